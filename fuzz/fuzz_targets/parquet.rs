//! See `okl_fuzz::input::parquet`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| okl_fuzz::input::parquet(data));
