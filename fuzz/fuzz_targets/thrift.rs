#![no_main]

use std::cell::RefCell;

use hopwright_fuzz_targets::{ThriftClient, thrift_client};

thread_local! {
    static CLIENT: RefCell<ThriftClient> = RefCell::new(thrift_client());
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    CLIENT.with_borrow_mut(|client| {
        client.messages(data);
    });
});
