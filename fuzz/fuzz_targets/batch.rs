//! See `okl_fuzz::engine::batch`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| okl_fuzz::engine::batch(data));
