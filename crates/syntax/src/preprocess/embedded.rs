//! The include files that come with the compiler, so that it works without being installed.

/// The text of a built-in include file.
pub(super) fn lookup(name: &str) -> Option<&'static str> {
    Some(match name {
        "core.p4" => include_str!("../../../../p4/include/core.p4"),
        "v1model.p4" => include_str!("../../../../p4/include/v1model.p4"),
        "crypto.p4" => include_str!("../../../../p4/include/crypto.p4"),
        _ => return None,
    })
}
