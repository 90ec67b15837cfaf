//! Numbers and addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

use num_bigint::BigUint;

use super::{Number, Parsed};

/// Length of the number or address at the beginning of a text. Two points after a value belong to a range.
pub(super) fn length(text: &str) -> usize {
    let part = |(at, c): &(usize, char)| {
        let point = *c == '.' && !text[*at..].starts_with("..");
        point || c.is_alphanumeric() || matches!(c, '*' | '_' | ':')
    };
    text.char_indices().find(|c| !part(c)).map_or(text.len(), |(at, _)| at)
}

/// A number; an IPv4 or IPv6 address; or six bytes with colons, a MAC address.
pub(super) fn parse_value(text: &str) -> Parsed<Number> {
    let whole = |value: BigUint, width| Ok(Number { address: Some(width), ..value.into() });
    let bad = || format!("`{text}` is no address");
    let bytes: Vec<&str> = text.split(':').collect();
    let is_byte = |b: &&str| matches!(b.len(), 1 | 2) && b.chars().all(|c| c.is_ascii_hexdigit());
    if bytes.len() == 6 && bytes.iter().all(is_byte) {
        let digits: String = bytes.iter().map(|b| format!("{b:0>2}")).collect();
        return whole(BigUint::parse_bytes(digits.as_bytes(), 16).ok_or_else(bad)?, 48);
    }
    if text.contains(':') {
        return whole(u128::from(text.parse::<Ipv6Addr>().map_err(|_| bad())?).into(), 128);
    }
    if text.contains('.') {
        return whole(u32::from(text.parse::<Ipv4Addr>().map_err(|_| bad())?).into(), 32);
    }
    parse_number(text)
}

/// A value of 32, 48 or 128 bits as an IPv4, MAC or IPv6 address, as [`super::parse_value`] reads it; `None` for other widths and greater
/// values.
pub fn address(value: &BigUint, width: u32) -> Option<String> {
    Some(match width {
        32 => Ipv4Addr::from(u32::try_from(value).ok()?).to_string(),
        48 => {
            let bytes = u64::try_from(value).ok().filter(|value| value >> 48 == 0)?.to_be_bytes();
            bytes[2..].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
        }
        128 => Ipv6Addr::from(u128::try_from(value).ok()?).to_string(),
        _ => return None,
    })
}

impl From<BigUint> for Number {
    /// A number of which all digits count.
    fn from(value: BigUint) -> Number {
        Number { value, mask: None, trailing_stars: 0, address: None }
    }
}

impl Number {
    /// Another value in the form of this one: an address, or hexadecimal.
    pub fn text_of(&self, value: &BigUint) -> String {
        self.address.and_then(|width| address(value, width)).unwrap_or_else(|| format!("{value:#x}"))
    }

    pub(super) fn is_plain(&self) -> bool {
        self.mask.as_ref().is_none_or(|mask| (mask + 1u32).count_ones() == 1)
    }
}

fn parse_number(text: &str) -> Parsed<Number> {
    let bad = || format!("`{text}` is no number");
    let (digits, bits, radix) = match text.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (&text[2..], 4, 16),
        Some("0b") => (&text[2..], 1, 2),
        _ => {
            let value = BigUint::parse_bytes(text.as_bytes(), 10).ok_or_else(bad)?;
            return Ok(value.into());
        }
    };
    let (mut value, mut mask, mut trailing_stars) = (BigUint::ZERO, BigUint::ZERO, 0);
    let mut any = false;
    for c in digits.chars().filter(|&c| c != '_') {
        any = true;
        value <<= bits;
        mask <<= bits;
        if c == '*' {
            trailing_stars += bits;
        } else {
            value += c.to_digit(radix).ok_or_else(bad)?;
            mask += (1u32 << bits) - 1;
            trailing_stars = 0;
        }
    }
    if any { Ok(Number { value, mask: Some(mask), trailing_stars, address: None }) } else { Err(bad()) }
}
