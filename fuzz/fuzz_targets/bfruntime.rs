#![no_main]

use hopwright_fuzz_targets::{BfRuntimeController, bfruntime_controller};

thread_local! {
    static CONTROLLER: BfRuntimeController = bfruntime_controller();
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    CONTROLLER.with(|controller| {
        controller.requests(data);
    });
});
