#![no_main]

use hopwright_fuzz_targets::{Configs, switch_configs};

thread_local! {
    static CONFIGS: Configs = switch_configs();
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        CONFIGS.with(|configs| configs.file(text));
    }
});
