//! See `okl_fuzz::server::server_arrow`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| okl_fuzz::server::server_arrow(data));
