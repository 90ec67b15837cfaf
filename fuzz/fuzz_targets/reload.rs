#![no_main]

use hopwright_fuzz_targets::Reloads;

thread_local! {
    static RELOADS: Reloads = Reloads::new();
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| RELOADS.with(|reloads| reloads.reload(data)));
