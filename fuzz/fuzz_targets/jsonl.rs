//! See `okl_fuzz::input::jsonl`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| okl_fuzz::input::jsonl(data));
