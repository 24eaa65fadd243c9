//! See `okl_fuzz::snapshot`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| okl_fuzz::snapshot(data));
