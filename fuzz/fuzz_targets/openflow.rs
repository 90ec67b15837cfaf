#![no_main]

use std::cell::RefCell;

use hopwright_fuzz_targets::Controllers;

thread_local! {
    static CONTROLLERS: RefCell<Controllers> = RefCell::new(Controllers::new());
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    CONTROLLERS.with_borrow_mut(|controllers| {
        controllers.messages(data);
    });
});
