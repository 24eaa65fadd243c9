//! See `okl_fuzz::engine::snapshot`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| okl_fuzz::engine::snapshot(data));
