//! The shell script that creates the namespace in which the reference router listens.

use std::fmt::Write;
use std::net::IpAddr;

use crate::config::links::Links;

/// A shell script that makes the namespace, with a TAP device for each device of the router, as these are when it is
/// run. `name` has been checked to be a plain file name.
pub fn script(name: &str, links: &Links) -> String {
    let list = |addresses: Vec<IpAddr>| {
        let mut texts: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
        texts.sort_unstable();
        texts.dedup();
        texts.join(" ")
    };
    let own = std::iter::once(links.internal.ip()).chain(links.external.iter().map(|e| e.underlay.local.ip()));
    let remote = links.external.iter().map(|e| e.underlay.remote.ip());
    let remote = remote.chain(links.siblings.iter().map(|s| s.address.ip()));
    let mut text = String::from(
        "#!/bin/sh\n# Makes the network namespace for the router that has hopwright's slow path. To be run as root, once\n\
         # after boot, before both routers.\nset -eu\n",
    );
    let _ = writeln!(text, "netns={name}");
    let _ = writeln!(text, "own='{}'", list(own.collect()));
    let _ = writeln!(text, "remote='{}'", list(remote.collect()));
    text + include_str!("namespace.sh")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::brload_links;

    #[test]
    fn the_script_names_every_address_once() {
        let text = script("br-slow", &brload_links());
        assert!(text.contains("\nnetns=br-slow\nown='10.123.10.1 10.123.2.1 10.123.3.1'\n"), "{text}");
        assert!(text.contains("\nremote='10.123.10.2 10.123.2.2 10.123.3.3'\n"), "{text}");
    }
}
