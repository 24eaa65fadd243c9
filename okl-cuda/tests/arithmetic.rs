//! The arithmetic of the kernels, compiled for this processor, gives the bits of the library for every kernel.

use std::path::Path;
use std::process::Command;

use libloading::{Library, Symbol};
use okl::kernel::{AnyKernel, DotKernel};
use okl_cuda::program::{DEPTH, Step, program};

const CALL: &str = r#"
#include "arithmetic.h"
void values(const okl_step *steps, int count, float xx, const float *yy, float *dots, int n) {
    for (int i = 0; i < n; i++) dots[i] = count == 1 ? okl_leaf(steps[0], dots[i], xx, yy[i]) : okl_value(steps, count, dots[i], xx, yy[i]);
}
"#;

type Values = unsafe extern "C" fn(*const Step, i32, f32, *const f32, *mut f32, i32);

/// Compiles arithmetic.h with the C compiler that building this workspace needs anyway (for zstd).
fn compiled() -> Library {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, library) = (folder.join("arithmetic.c"), folder.join("libarithmetic.so"));
    std::fs::write(&source, CALL).unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut command = Command::new(&compiler);
    command.args(["-O2", "-ffp-contract=off", "-fPIC", "-shared", "-o"]).arg(&library).arg(&source).arg("-lm");
    command.arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kernels"));
    let done = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    // SAFETY: the library has no initialisers.
    unsafe { Library::new(&library) }.unwrap()
}

fn kernels() -> Vec<AnyKernel> {
    use AnyKernel::*;
    let gaussian = Gaussian { gamma: 0.4 };
    vec![
        Linear,
        Polynomial { degree: 0, gamma: 0.5, coef0: 1.0 },
        Polynomial { degree: 3, gamma: 0.5, coef0: 0.0 },
        Polynomial { degree: 7, gamma: 0.1, coef0: 1.0 },
        gaussian.clone(),
        Gaussian { gamma: 1e-9 },
        Exponential { gamma: 0.4 },
        Matern32 { gamma: 0.4 },
        Matern52 { gamma: 0.4 },
        RationalQuadratic { gamma: 0.4, alpha: 0.5 },
        RationalQuadratic { gamma: 5e19, alpha: 0.05 },
        Scaled { weight: 2.5, of: Box::new(gaussian.clone()) },
        Sum(vec![Linear, gaussian.clone(), Sum(vec![])]),
        Product(vec![Matern32 { gamma: 0.1 }, Sum(vec![gaussian, Linear]), Product(vec![])]),
    ]
}

/// Inner products and squared norms: ordinary ones, and some of every size.
fn pairs() -> (Vec<f32>, Vec<f32>) {
    let ordinary = (0..4000).map(|i| ((i % 4001) as f32 / 600.0 - 3.0, 1.0 + (i % 53) as f32 / 4.0));
    let sizes = (-40..39).flat_map(|e| [-1.7f32, 0.0, 1.3].map(|m| (m * 10f32.powi(e.min(30)), 10f32.powi(e))));
    ordinary.chain(sizes).unzip()
}

#[test]
fn the_kernels_compiled_for_the_processor_give_the_bits_of_the_library() {
    let library = compiled();
    // SAFETY: the function has this type.
    let values: Symbol<Values> = unsafe { library.get(b"values") }.unwrap();
    let (dots, yy) = pairs();
    for kernel in kernels() {
        let steps = program(&kernel).unwrap();
        let mut found = dots.clone();
        // SAFETY: all arrays have the lengths that are passed.
        unsafe { values(steps.as_ptr(), steps.len() as i32, 4.0, yy.as_ptr(), found.as_mut_ptr(), dots.len() as i32) };
        for ((found, dot), yy) in found.iter().zip(&dots).zip(&yy) {
            let expected = kernel.eval(*dot, 4.0, *yy);
            let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
            assert!(same, "{kernel:?} at {dot}, {yy}: {found} instead of {expected}");
        }
    }
}

#[test]
fn a_kernel_that_is_nested_too_deeply_is_refused() {
    let nested = |depth: usize| (1..depth).fold(AnyKernel::Linear, |kernel, _| AnyKernel::Sum(vec![kernel]));
    assert!(program(&nested(DEPTH)).is_ok());
    assert!(program(&nested(DEPTH + 1)).unwrap_err().contains("nested"));
}

/// `make ptx` writes the checksum of the sources (FNV-1a) into the last line.
#[test]
fn the_ptx_was_made_of_these_sources() {
    let sources = [include_str!("../src/kernels/place.cu"), include_str!("../src/kernels/arithmetic.h")];
    let bytes = sources.iter().flat_map(|text| text.bytes());
    let fnv = bytes.fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let ptx = include_str!("../src/kernels/place.ptx");
    assert_eq!(ptx.lines().last(), Some(format!("// sources {fnv:016x}").as_str()), "the sources have changed: make ptx");
    for contracted in ["mul.f32", "add.f32", "sub.f32", "mul.f64", "add.f64", ".ftz", ".approx"] {
        assert!(!ptx.contains(contracted), "{contracted} in the PTX: its result is not the one of IEEE 754");
    }
}
