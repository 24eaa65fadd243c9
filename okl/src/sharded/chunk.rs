//! Chunks of terms and changes of their coefficients as bytes, in the form in which they leave the process.
//!
//! A chunk is little-endian: eight numbers of 64 bits (the name of the format, its version, features, outputs, riders, the number of
//! changes before it, and two that are 0), then [`CHUNK`] birth times and ids, coefficients column by column, centres feature by feature,
//! squared norms, and the XXH3 checksum of all bytes before it.

use xxhash_rust::xxh3::xxh3_64;

use crate::basis::Space;
use crate::basis::terms::Terms;
use crate::coordinates::{Coordinates, Rewrite, Riders, Scales};
use crate::gram::{CHUNK, LANES, Panels};

const NAME: u64 = u64::from_le_bytes(*b"oklchunk");
const VERSION: u64 = 1;
/// The number of bytes of the numbers in front of the arrays.
const HEAD: usize = 64;
/// The number of bytes of a change of all coefficients.
const REWRITE: usize = 48;

/// A chunk of terms, as it was when it left the learner.
pub(crate) struct Chunk {
    pub births: Vec<u64>,
    pub ids: Vec<u64>,
    pub panels: Panels,
    pub squares: Vec<f32>,
    /// The coefficients of f and its riders.
    pub f: Coordinates,
    /// The number of changes of all coefficients before the chunk left.
    pub rewrites: usize,
}

/// The bytes of a chunk of terms.
pub(crate) fn encode<P: Space>(terms: &Terms<P>, f: &Coordinates, chunk: usize, rewrites: usize) -> Result<Vec<u8>, String> {
    let packed = terms.space.packed_terms().ok_or("only dense rows can be kept elsewhere")?;
    let (mut centres, mut coefficients) = (Vec::new(), Vec::new());
    packed.panels.copy_chunk(chunk, &mut centres);
    f.append_chunk(chunk, &mut coefficients);
    let slots = chunk * CHUNK..(chunk + 1) * CHUNK;
    let Riders { trace, mean } = f.riders();
    let riders = u64::from(trace) + 2 * u64::from(mean);
    let head = [NAME, VERSION, packed.panels.dim() as u64, f.outputs() as u64, riders, rewrites as u64, 0, 0];
    let wholes = head.iter().chain(&terms.births[slots.clone()]).chain(&terms.ids[slots.clone()]);
    let mut bytes: Vec<u8> = wholes.flat_map(|v| v.to_le_bytes()).collect();
    bytes.extend(coefficients.iter().flat_map(|v| v.to_le_bytes()));
    bytes.extend(centres.iter().chain(&packed.squares[slots]).flat_map(|v| v.to_le_bytes()));
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    Ok(bytes)
}

/// Reads the bytes of a chunk.
///
/// # Errors
/// If they are damaged, or from another version of okl.
pub(crate) fn decode(bytes: &[u8]) -> Result<Chunk, String> {
    let damaged = || "a chunk of terms is damaged: its checksum does not match its bytes".to_string();
    let (body, checksum) = bytes.split_last_chunk::<8>().filter(|(body, _)| body.len() >= HEAD).ok_or_else(damaged)?;
    if xxh3_64(body).to_le_bytes() != *checksum {
        return Err(damaged());
    }
    let (head, mut rest) = body.split_at(HEAD);
    let head = wholes(head);
    let [name, version, features, outputs, riders, rewrites] = [0, 1, 2, 3, 4, 5].map(|at| head[at]);
    if (name, version) != (NAME, VERSION) {
        return Err(format!("a chunk of terms has format {version}, expected {VERSION}: use one version of okl everywhere"));
    }
    let (features, outputs, riders) =
        (features as usize, outputs as usize, Riders { trace: riders & 1 > 0, mean: riders & 2 > 0 });
    let columns = outputs * riders.functions();
    let mut take = |bytes: usize| {
        let (part, others) = rest.split_at_checked(bytes * CHUNK)?;
        rest = others;
        Some(part)
    };
    let births = take(8).ok_or_else(damaged)?;
    let ids = take(8).ok_or_else(damaged)?;
    let coefficients = take(8 * columns).ok_or_else(damaged)?;
    let centres = take(4 * features).ok_or_else(damaged)?;
    let squares = take(4).ok_or_else(damaged)?;
    let mut f = Coordinates::new(outputs, riders);
    f.restore(CHUNK, &wholes(coefficients).into_iter().map(f64::from_bits).collect::<Vec<_>>());
    Ok(Chunk {
        births: wholes(births),
        ids: wholes(ids),
        panels: panels(features, &singles(centres)),
        squares: singles(squares),
        f,
        rewrites: rewrites as usize,
    })
}

fn wholes(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|v| u64::from_le_bytes(*v)).collect()
}

fn singles(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|v| f32::from_le_bytes(*v)).collect()
}

/// Panels of the centres of a chunk, which are given feature by feature.
fn panels(features: usize, centres: &[f32]) -> Panels {
    let mut panels = Panels::new(features);
    panels.reserve(CHUNK);
    let mut rows = vec![0.0; features * LANES];
    for first in (0..CHUNK).step_by(LANES) {
        for (feature, values) in centres.chunks_exact(CHUNK).enumerate() {
            (0..LANES).for_each(|lane| rows[lane * features + feature] = values[first + lane]);
        }
        let terms: [(usize, &[f32]); LANES] = std::array::from_fn(|i| (first + i, &rows[i * features..(i + 1) * features]));
        panels.put_many(&terms);
    }
    panels
}

/// The bytes of a change of all coefficients.
pub(crate) fn encode_rewrite(rewrite: Rewrite) -> Vec<u8> {
    let (kind, numbers) = match rewrite {
        Rewrite::Power(power) => (0, [power, 0.0, 0.0, 0.0, 0.0]),
        Rewrite::Scales(Scales { f, trace, mean }) => (1, [f, trace.0, trace.1, mean.0, mean.1]),
        Rewrite::Negate => (2, [0.0; 5]),
        Rewrite::Zero => (3, [0.0; 5]),
        Rewrite::Outputs(outputs) => (4, [outputs as f64, 0.0, 0.0, 0.0, 0.0]),
    };
    std::iter::once(kind).chain(numbers.map(f64::to_bits)).flat_map(u64::to_le_bytes).collect()
}

/// Reads the bytes of a change of all coefficients.
pub(crate) fn decode_rewrite(bytes: &[u8]) -> Result<Rewrite, String> {
    let unknown = || "an unknown change of coefficients: use one version of okl everywhere".to_string();
    let numbers = Some(bytes).filter(|bytes| bytes.len() == REWRITE).map(wholes).ok_or_else(unknown)?;
    let [a, b, c, d, e] = [1, 2, 3, 4, 5].map(|at| f64::from_bits(numbers[at]));
    match numbers[0] {
        0 => Ok(Rewrite::Power(a)),
        1 => Ok(Rewrite::Scales(Scales { f: a, trace: (b, c), mean: (d, e) })),
        2 => Ok(Rewrite::Negate),
        3 => Ok(Rewrite::Zero),
        4 => Ok(Rewrite::Outputs(a as usize)),
        _ => Err(unknown()),
    }
}
