//! Values as people write them.

use std::net::{Ipv4Addr, Ipv6Addr};

use num_bigint::BigUint;

/// A number: decimal, or after `0x`, `0o` or `0b`.
pub fn number(text: &str) -> Option<BigUint> {
    let (digits, radix) = match text.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (&text[2..], 16),
        Some("0o") => (&text[2..], 8),
        Some("0b") => (&text[2..], 2),
        _ => (text, 10),
    };
    BigUint::parse_bytes(digits.as_bytes(), radix).filter(|_| digits.chars().all(|c| c.is_digit(radix)))
}

/// A number, an IPv4 or IPv6 address, or bytes in hexadecimal with colons between: a MAC address, or a longer or shorter number. Eight
/// groups are an IPv6 address unless all have two digits.
pub fn value(text: &str) -> Option<BigUint> {
    number(text).or_else(|| Some(address(text)?.0))
}

/// What [`value`] takes besides numbers: an address, or bytes with colons between. Returns its width in bits, too.
pub fn address(text: &str) -> Option<(BigUint, u32)> {
    let ipv4 = || Some((u32::from(text.parse::<Ipv4Addr>().ok()?).into(), 32));
    let ipv6 = || Some((u128::from(text.parse::<Ipv6Addr>().ok()?).into(), 128));
    ipv4().or_else(|| bytes(text)).or_else(ipv6)
}

fn bytes(text: &str) -> Option<(BigUint, u32)> {
    let parts: Vec<&str> = text.split(':').collect();
    let is_byte = |part: &&str| {
        (part.len() == 2 || parts.len() == 6 && part.len() == 1) && part.chars().all(|c| c.is_ascii_hexdigit())
    };
    let are_bytes = parts.len() > 1 && parts.iter().all(is_byte);
    let digits = || parts.iter().map(|part| format!("{part:0>2}")).collect::<String>();
    let value = are_bytes.then(|| BigUint::parse_bytes(digits().as_bytes(), 16)).flatten()?;
    Some((value, 8 * parts.len() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_many_forms() {
        for (text, expected) in [
            ("7", 7u128),
            ("0X1f", 31),
            ("0b101", 5),
            ("0o17", 15),
            ("10.0.0.1", 0x0a00_0001),
            ("02:00:00:00:00:01", 0x0200_0000_0001),
            ("2:0:0:0:0:1", 0x0200_0000_0001),
            ("01:02", 0x0102),
            ("00:00:00:00:00:00:00:01", 1),
            ("::1", 1),
            ("1:2:3:4:5:6:7:8", 0x0001_0002_0003_0004_0005_0006_0007_0008),
        ] {
            assert_eq!(value(text), Some(expected.into()), "{text}");
        }
        for text in ["", "0x", "x", "-1", "+1", "1_000", "0b2", "10.0.0", "1:2", "1:2:3:4:5:g", "02:00:00:00:00:+1"] {
            assert_eq!(value(text), None, "{text}");
        }
    }

    #[test]
    fn addresses_have_widths() {
        for (text, width) in [
            ("10.0.0.1", Some(32)),
            ("02:00:00:00:00:01", Some(48)),
            ("01:02", Some(16)),
            ("::1", Some(128)),
            ("1:2:3:4:5:6:7:8", Some(128)),
            ("7", None),
            ("0x0a000001", None),
        ] {
            assert_eq!(address(text).map(|(_, width)| width), width, "{text}");
        }
    }
}
