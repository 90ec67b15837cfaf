#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hopwright_fuzz_targets::format(data));
