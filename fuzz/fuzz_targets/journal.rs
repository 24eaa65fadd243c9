//! See `okl_fuzz::server::journal`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| okl_fuzz::server::journal(data));
