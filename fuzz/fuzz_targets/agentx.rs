#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = hopwright_fuzz_targets::agentx(data);
});
