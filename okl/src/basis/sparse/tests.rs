//! The non-zeros of a dense row are a sparse row: every value has the same bits.

use super::*;
use crate::basis::Points;
use crate::parts::kernel::AnyKernel;

const FEATURES: usize = 40;

/// Rows with zeros, values of both signs and of very different sizes, one row without values and one row twice.
fn rows() -> Vec<Vec<f32>> {
    let mut state = 5u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    let mut value = || if next() < 0.7 { 0.0 } else { (next() - 0.5) * 10f32.powf(4.0 * next()) };
    let mut rows: Vec<Vec<f32>> = (0..200).map(|_| (0..FEATURES).map(|_| value()).collect()).collect();
    rows[7].fill(0.0);
    rows[9] = rows[8].clone();
    rows
}

fn packed(rows: &[Vec<f32>]) -> (Vec<usize>, Vec<u32>, Vec<f32>, Vec<f32>) {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in rows {
        for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            columns.push(j as u32);
            values.push(*v);
        }
        starts.push(columns.len());
    }
    (starts, columns, values, rows.iter().map(|row| crate::gram::square(row)).collect())
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// All that a space computes, after slots were written, overwritten and blended, for dense and for sparse rows.
#[test]
fn every_value_has_the_bits_of_dense_rows() {
    let rows = rows();
    let (starts, columns, values, squares) = packed(&rows);
    let sparse_rows = SparsePoints { starts: &starts, columns: &columns, values: &values, squares: &squares };
    let numbers = rows.concat();
    let dense_rows = Points { rows: Matrix::new(FEATURES, &numbers), squares: &squares };
    let kernels = vec![AnyKernel::Gaussian { gamma: 1e-4 }, AnyKernel::Exponential { gamma: 1e-3 }];
    let mut dense = Dense::new(kernels, FEATURES, Backend::best());
    let mut sparse = Sparse::of(&dense, 0);
    dense.reserve(64);
    sparse.reserve(64);
    // Each slot is written several times, so that columns become arrays and lists again.
    for (i, slot) in (0..192).map(|i| (i, i * 7 % 64)) {
        dense.put(slot, dense_rows, i);
        sparse.put(slot, sparse_rows, i);
    }
    let mut pairs = [[[Pair::default(); 3]; 2]; 2];
    let [of_dense, of_sparse] = &mut pairs;
    for (into, from, h) in [(3, 5, 0.3), (8, 9, 0.9), (11, 12, -0.2), (14, 2, 0.0)] {
        dense.blend(into, from, h, of_dense);
        sparse.blend(into, from, h, of_sparse);
        assert_eq!(of_dense, of_sparse);
        assert_eq!(dense.apart2(0, into, from), sparse.apart2(0, into, from));
    }
    assert!(sparse.columns.values().any(|c| matches!(c, Column::Whole(..))));
    assert!(sparse.columns.values().any(|c| matches!(c, Column::Listed(_))));
    let (mut a, mut b) = (vec![0.0; 128], vec![0.0; 128]);
    for slot in 0..64 {
        dense.term_row(slot, 64, 0..2, &mut a);
        sparse.term_row(slot, 64, 0..2, &mut b);
        assert_eq!(bits(&a), bits(&b), "slot {slot}");
        dense.distances2(0, slot, 64, &mut a[..64]);
        sparse.distances2(0, slot, 64, &mut b[..64]);
        assert_eq!(bits(&a), bits(&b), "distances of slot {slot}");
        let same = |i: usize, dense: &mut Dense<_>, sparse: &mut Sparse<_>| {
            assert_eq!(dense.is(slot, dense_rows, i), sparse.is(slot, sparse_rows, i));
        };
        (0..200).for_each(|i| same(i, &mut dense, &mut sparse));
    }
    for first in [0, 32, 168] {
        let (mut of_dense, mut of_sparse) = (Block::default(), Block::default());
        for block in [&mut of_dense, &mut of_sparse] {
            block.begin(32, 2, 64, 64);
        }
        let part = first..first + 32;
        dense.against_terms(dense_rows.range(part.clone()), 64, &mut of_dense);
        sparse.against_terms(sparse_rows.range(part.clone()), 64, &mut of_sparse);
        assert_eq!(bits(of_dense.terms_mut().data), bits(of_sparse.terms_mut().data));
        dense.among_rows(dense_rows.range(part.clone()), &mut of_dense);
        sparse.among_rows(sparse_rows.range(part), &mut of_sparse);
        for block in [&mut of_dense, &mut of_sparse] {
            block.appended(3, 0);
        }
        dense.refresh(11, &mut of_dense);
        sparse.refresh(11, &mut of_sparse);
        for r in 1..32 {
            of_dense.patch(r);
            of_sparse.patch(r);
            (0..2).for_each(|p| assert_eq!(bits(of_dense.row(p, r, 64)), bits(of_sparse.row(p, r, 64)), "row {r}"));
        }
    }
    let converted = Sparse::of(&dense, 64);
    assert!((0..64).all(|slot| converted.row(slot) == sparse.row(slot)));
}
