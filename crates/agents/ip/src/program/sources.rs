//! The text of the program. Part of the crate and of its build script.

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../p4/", $name)))),*]
    };
}

/// The program and its parts, by the names they include each other by.
pub(crate) const SOURCES: &[(&str, &str)] =
    files!["ip.p4", "headers.p4", "next_hops.p4", "parser.p4", "reasons.p4", "route_ipv4.p4", "route_ipv6.p4"];
