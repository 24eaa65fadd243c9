//! See `okl_fuzz::engine::config`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| okl_fuzz::engine::config(data));
