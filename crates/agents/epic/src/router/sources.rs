//! The text of the router's program. Part of the crate and of its build script.

use hopwright_driver::{Options, in_memory};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../p4/", $name)))),*]
    };
}

/// The program and its parts, by the names they include each other by.
pub(crate) const SOURCES: &[(&str, &str)] = files![
    "epic_router.p4",
    "authenticators.p4",
    "cipher_aes.p4",
    "cipher_sem.p4",
    "duplicates.p4",
    "headers.p4",
    "parser.p4",
    "reasons.p4",
    "sem_tables.p4",
];

/// How it is compiled, with the cipher SEM or AES.
pub(crate) fn options(sem: bool) -> Options {
    let mut options = in_memory(&SOURCES[1..]);
    if sem {
        options.define("EPIC_SEM");
    }
    options
}
