//! See `okl_fuzz::input::position`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| okl_fuzz::input::position(data));
