#![no_main]

use std::cell::RefCell;
use std::sync::atomic::{AtomicU8, Ordering};

use hopwright_fuzz_targets::Routers;

/// What packets lead to, as coverage: machine code has none, and the interpreter's is the same for all programs.
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static OUTCOMES: [AtomicU8; 256 * 16] = [const { AtomicU8::new(0) }; 256 * 16];

thread_local! {
    static ROUTERS: RefCell<Routers> = RefCell::new(Routers::new());
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    ROUTERS.with_borrow_mut(|routers| {
        if let Some(outcome) = routers.packet(data) {
            let reason = usize::from(outcome.reason.unwrap_or(255));
            let place = reason * 16 + (outcome.port + 7 * outcome.parser_error) as usize % 16;
            OUTCOMES[place].store(1, Ordering::Relaxed);
        }
    });
});
