//! Values that people write as addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

use hopwright_ir::MatchValue;
use num_bigint::BigUint;

/// A notation of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressForm {
    /// `10.0.0.1`
    Ipv4,
    /// `2001:db8::1`
    Ipv6,
    /// `02:00:00:00:00:01`
    Mac,
}

impl AddressForm {
    /// The notation of a field, key or parameter, by its width and, where numbers have that width, too, by its name. `None` if it is no
    /// address.
    pub fn of(name: &str, width: u32) -> Option<AddressForm> {
        let whole = name.to_ascii_lowercase();
        let last = whole.rsplit('.').next().unwrap_or(&whole);
        let address =
            || whole.contains("ip") || last.contains("addr") || last.contains("hop") || last == "src" || last == "dst";
        match width {
            48 if last.contains("time") => None,
            48 => Some(AddressForm::Mac),
            128 => Some(AddressForm::Ipv6),
            32 if address() => Some(AddressForm::Ipv4),
            _ => None,
        }
    }

    /// The text of an address.
    fn text(self, value: &BigUint) -> Option<String> {
        match self {
            AddressForm::Ipv4 => u32::try_from(value).ok().map(|v| Ipv4Addr::from(v).to_string()),
            AddressForm::Ipv6 => u128::try_from(value).ok().map(|v| Ipv6Addr::from(v).to_string()),
            AddressForm::Mac => {
                let bytes = u64::try_from(value).ok()?.to_be_bytes();
                Some(bytes[2..].iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":"))
            }
        }
    }
}

/// The text of a value: an address, or a hexadecimal number.
pub fn value_text(name: &str, width: u32, value: &BigUint) -> String {
    AddressForm::of(name, width).and_then(|form| form.text(value)).unwrap_or_else(|| format!("{value:#x}"))
}

/// The text of what an entry matches. Masks are numbers.
pub fn match_text(name: &str, width: u32, value: &MatchValue) -> String {
    let text = |value: &BigUint| value_text(name, width, value);
    match value {
        MatchValue::Exact(value) | MatchValue::Optional(Some(value)) => text(value),
        MatchValue::Lpm { value, prefix_len } => format!("{}/{prefix_len}", text(value)),
        MatchValue::Ternary { value, mask } => format!("{} &&& {mask:#x}", text(value)),
        MatchValue::Range { lo, hi } => format!("{}..{}", text(lo), text(hi)),
        MatchValue::Optional(None) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_by_width_and_name() {
        for (name, width, value, text) in [
            ("hdr.ipv4.dst_addr", 32, 0x0a00_0201u64, "10.0.2.1"),
            ("next_hop", 32, 1, "0.0.0.1"),
            ("hdr.tcp.seq_no", 32, 0x0a00_0201, "0xa000201"),
            ("hdr.ipv6.src", 128, 1, "::1"),
            ("hdr.ethernet.dst", 48, 0x0200_0000_0001, "02:00:00:00:00:01"),
            ("standard_metadata.ingress_global_timestamp", 48, 5, "0x5"),
            ("hdr.ipv4.ttl", 8, 64, "0x40"),
        ] {
            assert_eq!(value_text(name, width, &value.into()), text, "{name}");
        }
        let prefix = MatchValue::Lpm { value: 0x0a00_0200u32.into(), prefix_len: 24 };
        assert_eq!(match_text("hdr.ipv4.dst", 32, &prefix), "10.0.2.0/24");
    }
}
