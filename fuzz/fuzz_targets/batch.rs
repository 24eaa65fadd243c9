//! See `okl_fuzz::batch`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| okl_fuzz::batch(data));
