//! See `okl_fuzz::config`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| okl_fuzz::config(data));
