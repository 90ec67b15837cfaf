//! Networks as files describe them: paths, entries, and what is refused.

use hopwright_epic::IsdAs;
use hopwright_epic::network::{Network, NetworkError};

const TEXT: &str = include_str!("../../../../../tests/epic/network.toml");

fn ia(number: u64) -> IsdAs {
    IsdAs(0x0001_ff00_0000_0000 + number)
}

#[test]
fn paths_go_up_and_down_no_further_than_needed() {
    let network = Network::parse(TEXT).unwrap();
    let hops = |from, to| -> Vec<u64> {
        let path = network.path(ia(from), ia(to), 1_700_000_000).unwrap();
        path.hops().map(|hop| hop.ia.0 & 0xfff).collect()
    };
    assert_eq!(hops(0x110, 0x114), [0x110, 0x111, 0x112, 0x112, 0x113, 0x114]);
    assert_eq!(hops(0x110, 0x112), [0x110, 0x111, 0x112]);
    assert_eq!(hops(0x112, 0x110), [0x112, 0x111, 0x110]);
    assert_eq!(hops(0x110, 0x110), [0x110]);
    assert_eq!(network.path(ia(0x110), ia(0x999), 0).unwrap_err(), NetworkError::Unknown(ia(0x999)));
}

#[test]
fn entries_are_lines_of_a_packet_test() {
    let entries = Network::parse(TEXT).unwrap().entries(ia(0x114), 1_790_000_000_000_000).unwrap();
    assert!(hopwright_stf::parse("entries", &entries).is_ok(), "{entries}");
    assert!(entries.contains("duplicate_suppression on()"));
    assert!(entries.contains("add links port:1 link(interface:1, type:2)"));
}

#[test]
fn entries_for_tofino_have_its_clock() {
    let entries = |from: &str, to: &str| {
        let text = TEXT.replace("\"aes\"", "\"sem\"").replace(from, to);
        // 2^48 ns are 281,474 s.
        Network::parse(&text).unwrap().entries_for_tofino(ia(0x114), 1_790_000_000_000_000)
    };
    let text = entries("", "").unwrap();
    assert!(hopwright_stf::parse("entries", &text).is_ok(), "{text}");
    assert!(text.contains("zero_was(at:1789899376, rest:924)"), "{text}");
    assert!(!text.contains("drkey_secret"), "{text}");
    assert_eq!(entries("\"sem\"", "\"aes\""), Err(NetworkError::TofinoCipher));
    assert_eq!(entries("{ 9 =", "{ 134 ="), Err(NetworkError::TofinoPort(134)));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |from: &str, to: &str, why: &str| {
        assert!(TEXT.contains(from));
        let message = Network::parse(&TEXT.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    };
    refused("\"aes\"", "\"des\"", "unknown variant");
    refused("1-ff00:0:110\"", "1-ff00:0\"", "is no ISD-AS");
    refused("0a\"", "0\"", "`hop_key` is not 32 hexadecimal digits");
    refused("{ 9 =", "{ 1 =", "1 is used twice");
    refused("{ 9 =", "{ 510 =", "is not between 1 and 499");
    refused("1 = \"1-ff00:0:111\"", "1 = \"1-ff00:0:199\"", "1-ff00:0:199 is not described");
    refused("ia = \"1-ff00:0:111\"", "ia = \"1-ff00:0:110\"", "is described twice");
    refused("suppress_duplicates = true", "min_level = 4", "level 4");
    refused("suppress_duplicates", "supress_duplicates", "unknown field");
}
