//! See `input::jsonl`.
#![no_main]

#[path = "../src/input.rs"]
mod input;

libfuzzer_sys::fuzz_target!(|data: &[u8]| input::jsonl(data));
