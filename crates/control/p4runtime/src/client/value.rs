//! Converts numbers, addresses and matches between text and P4Runtime's bytes.

use std::net::{Ipv4Addr, Ipv6Addr};

use ::bytes::Bytes;
use hopwright_control::text;
use hopwright_interp::AddressForm;
use hopwright_ir::{MatchForm, MatchKind};
use num_bigint::BigUint;
use num_traits::CheckedSub;

use crate::bytes;
use crate::p4info::match_kind;
use crate::proto::config::MatchField;
use crate::proto::config::action::Param;
use crate::proto::v1::field_match::{self as wire, FieldMatchType};

/// How a value is printed. Numbers can be read for every value, addresses for values of their width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `10.0.0.1`
    Ipv4,
    /// `2001:db8::1`
    Ipv6,
    /// `02:00:00:00:00:01`
    Mac,
    /// `0x800`
    Hex,
    /// `1500`
    Decimal,
    /// `Ethernet0`: a string.
    Text,
}

impl Format {
    /// The form of a field: by an annotation such as `@format(IPV4_ADDRESS)`, else by width and, if numbers and addresses
    /// have the same width, by name.
    pub fn of(name: &str, width: u32, annotations: &[String]) -> Format {
        let request = |word: &str| annotations.iter().any(|a| a.starts_with("@format") && a.contains(word));
        let last = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
        match width {
            32 if request("IPV4_ADDRESS") => return Format::Ipv4,
            128 if request("IPV6_ADDRESS") => return Format::Ipv6,
            48 if request("MAC_ADDRESS") => return Format::Mac,
            _ => {}
        }
        match AddressForm::of(name, width) {
            Some(AddressForm::Ipv4) => Format::Ipv4,
            Some(AddressForm::Ipv6) => Format::Ipv6,
            Some(AddressForm::Mac) => Format::Mac,
            None if last.contains("type") || width > 32 => Format::Hex,
            None => Format::Decimal,
        }
    }
}

/// Formats a value.
pub fn number_text(format: Format, value: &[u8]) -> String {
    if format == Format::Text {
        return String::from_utf8_lossy(value).into_owned();
    }
    let value = BigUint::from_bytes_be(value);
    let digits = value.to_bytes_be();
    /// The last bytes of a number.
    fn last<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
        let mut out = [0; N];
        let start = N.checked_sub(digits.len())?;
        out[start..].copy_from_slice(digits);
        Some(out)
    }
    match format {
        Format::Ipv4 => last::<4>(&digits).map(|b| Ipv4Addr::from(b).to_string()),
        Format::Ipv6 => last::<16>(&digits).map(|b| Ipv6Addr::from(b).to_string()),
        Format::Mac => last::<6>(&digits).map(|b| b.map(|b| format!("{b:02x}")).join(":")),
        Format::Decimal => Some(value.to_string()),
        Format::Hex | Format::Text => None,
    }
    .unwrap_or_else(|| format!("{value:#x}"))
}

/// A text that is no value or match of a field, with what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// The number has more bits.
    #[error("`{text}` does not fit {width} bits")]
    Beyond {
        /// The text.
        text: String,
        /// The bits of the value.
        width: u32,
    },
    /// An address for values of another width.
    #[error("`{text}` has {bits} bits: expected {}", expected(*.width))]
    Address {
        /// The text.
        text: String,
        /// The bits of the address.
        bits: u32,
        /// The bits of the value.
        width: u32,
    },
    /// Neither a number nor an address.
    #[error("`{text}`: expected {}", expected(*.width))]
    Number {
        /// The text.
        text: String,
        /// The bits of the value.
        width: u32,
    },
    /// A prefix that is longer than the field.
    #[error("/{len} is longer than the field's {width} bits")]
    Prefix {
        /// The length.
        len: u32,
        /// The bits of the field.
        width: u32,
    },
    /// A mask that is no prefix, of a field that is matched by prefixes.
    #[error("`{0}` is no prefix")]
    NoPrefix(String),
    /// A value with ones where its mask has zeros, and the value without them.
    #[error("`{text}` has ones in bits that are not matched: did you mean {fits} with the same mask?")]
    Unmatched {
        /// The text.
        text: String,
        /// The value without these ones.
        fits: String,
    },
    /// A range whose low bound is above the high one.
    #[error("`{0}`: the low bound is above the high one")]
    Range(String),
    /// Anything, of a field that is matched in this way.
    #[error("an {0} field needs a value")]
    Needed(MatchKind),
    /// A field that is matched in an unknown way.
    #[error("how this field matches is not known here")]
    UnknownKind,
    /// A field that packets are not compared with.
    #[error("this field is not matched")]
    NotMatched,
}

/// Parses a number: decimal, `0x`, `0o`, `0b`, an address, `true` or `false`; below zero as two's complement.
///
/// # Errors
/// What is wrong.
pub fn parse_number(text: &str, width: u32) -> Result<BigUint, ValueError> {
    let not_fitting = || ValueError::Beyond { text: text.into(), width };
    let negative = text.strip_prefix('-').and_then(text::number);
    let value = match (text, negative, text::address(text)) {
        ("true", ..) => 1u8.into(),
        ("false", ..) => BigUint::ZERO,
        (_, Some(number), _) => (BigUint::from(1u8) << width).checked_sub(&number).ok_or_else(not_fitting)?,
        // As many bytes as the value has.
        (.., Some((value, bits))) if bits == width.next_multiple_of(8) => value,
        (.., Some((_, bits))) => return Err(ValueError::Address { text: text.into(), bits, width }),
        (.., None) => text::number(text).ok_or_else(|| ValueError::Number { text: text.into(), width })?,
    };
    if value.bits() > u64::from(width) { Err(not_fitting()) } else { Ok(value) }
}

/// What can be written for a value of this width.
fn expected(width: u32) -> String {
    let (or, example) = match width {
        32 => (" or an IPv4 address", ", 10.0.0.1"),
        48 => (" or a MAC address", ", 02:00:00:00:00:01"),
        128 => (" or an IPv6 address", ", 2001:db8::1"),
        _ => ("", ""),
    };
    format!("a number of {width} bits{or} (such as 7, 0x1f{example})")
}

fn ones(width: u32) -> BigUint {
    (BigUint::from(1u8) << width) - 1u8
}

/// The mask of the given number of leading bits.
fn prefix(width: u32, len: u32) -> BigUint {
    ones(width) ^ ones(width - len.min(width))
}

/// The part after a slash: a length, or a mask.
fn mask(text: &str, width: u32) -> Result<(BigUint, Option<u32>), ValueError> {
    if text.len() < 4
        && let Ok(len) = text.parse::<u32>()
    {
        return match len <= width {
            true => Ok((prefix(width, len), Some(len))),
            false => Err(ValueError::Prefix { len, width }),
        };
    }
    Ok((parse_number(text, width)?, None))
}

/// Parses a match of a field; `None` for `*`, which matches anything.
///
/// # Errors
/// What is wrong.
pub fn parse_match(field: &MatchField, text: &str) -> Result<Option<FieldMatchType>, ValueError> {
    let width = width(field.bitwidth);
    let number = |text: &str| parse_number(text.trim(), width);
    let encode = |v: &BigUint| bytes::of(v);
    let format = field_format(field);
    let encoded = |text: &str| match format {
        Format::Text => Ok(Bytes::copy_from_slice(text.trim().as_bytes())),
        _ => number(text).map(|value| encode(&value)),
    };
    let Some(kind) = field.r#match.as_ref().and_then(match_kind) else {
        return Err(ValueError::UnknownKind);
    };
    let beyond = |value: &BigUint, mask: &BigUint| {
        if value & mask == *value {
            return Ok(());
        }
        let fits = number_text(field_format(field), &(value & mask).to_bytes_be());
        Err(ValueError::Unmatched { text: text.into(), fits })
    };
    if matches!(text, "*" | "_") {
        return match kind.any(width) {
            None => Err(ValueError::Needed(kind)),
            Some(_) => Ok(None),
        };
    }
    Ok(match kind.form() {
        MatchForm::Value => Some(FieldMatchType::Exact(wire::Exact { value: encoded(text)? })),
        MatchForm::ValueOrAny => Some(FieldMatchType::Optional(wire::Optional { value: encoded(text)? })),
        MatchForm::Prefix => {
            let (value, len) = match text.split_once('/') {
                Some((value, behind)) => {
                    let (mask, len) = mask(behind, width)?;
                    let len = len.or_else(|| contiguous(&mask, width));
                    (number(value)?, len.ok_or_else(|| ValueError::NoPrefix(behind.into()))?)
                }
                None => (number(text)?, width),
            };
            beyond(&value, &prefix(width, len))?;
            let lpm = wire::Lpm { value: encode(&value), prefix_len: len as i32 };
            (len > 0).then_some(FieldMatchType::Lpm(lpm))
        }
        MatchForm::Mask => {
            let (value, mask) = match (text.split_once("&&&"), text.split_once('/')) {
                (Some((value, mask)), _) => (number(value)?, number(mask)?),
                (None, Some((value, behind))) => (number(value)?, mask(behind, width)?.0),
                (None, None) => (number(text)?, ones(width)),
            };
            beyond(&value, &mask)?;
            let any = mask == BigUint::ZERO;
            (!any).then(|| FieldMatchType::Ternary(wire::Ternary { value: encode(&value), mask: encode(&mask) }))
        }
        MatchForm::Range => {
            let (lo, hi) = match text.split_once("..") {
                Some((lo, hi)) => (number(lo)?, number(hi)?),
                None => (number(text)?, number(text)?),
            };
            if lo > hi {
                return Err(ValueError::Range(text.into()));
            }
            let any = lo == BigUint::ZERO && hi == ones(width);
            (!any).then(|| FieldMatchType::Range(wire::Range { low: encode(&lo), high: encode(&hi) }))
        }
        MatchForm::Nothing => return Err(ValueError::NotMatched),
    })
}

/// The length of a mask whose ones are all leading.
fn contiguous(mask: &BigUint, width: u32) -> Option<u32> {
    (0..=width).find(|len| prefix(width, *len) == *mask)
}

/// Formats a match in the form that [`parse_match`] reads.
pub(super) fn match_text(format: Format, width: u32, found: &FieldMatchType) -> String {
    let text = |value: &Bytes| number_text(format, value);
    match found {
        FieldMatchType::Exact(m) => text(&m.value),
        FieldMatchType::Optional(m) => text(&m.value),
        FieldMatchType::Lpm(m) => format!("{}/{}", text(&m.value), m.prefix_len),
        FieldMatchType::Ternary(m) => {
            let mask = BigUint::from_bytes_be(&m.mask);
            match contiguous(&mask, width) {
                Some(len) if len == width => text(&m.value),
                Some(len) if matches!(format, Format::Ipv4 | Format::Ipv6) => format!("{}/{len}", text(&m.value)),
                _ => format!("{}&&&{}", text(&m.value), text(&m.mask)),
            }
        }
        FieldMatchType::Range(m) => format!("{}..{}", text(&m.low), text(&m.high)),
        FieldMatchType::Other(_) => "?".into(),
    }
}

/// The width of a number. P4Info has none for `error`.
pub(super) fn width(bitwidth: i32) -> u32 {
    if bitwidth > 0 { bitwidth as u32 } else { 32 }
}

/// How values of a match field are printed: those of a declared type without a width are strings.
pub(super) fn field_format(field: &MatchField) -> Format {
    if field.bitwidth == 0 && field.type_name.is_some() {
        return Format::Text;
    }
    Format::of(&field.name, width(field.bitwidth), &field.annotations)
}

/// How values of a parameter are printed.
pub(super) fn param_format(param: &Param) -> Format {
    if param.bitwidth == 0 && param.type_name.is_some() {
        return Format::Text;
    }
    Format::of(&param.name, width(param.bitwidth), &param.annotations)
}

#[cfg(test)]
mod tests {
    use crate::proto::config::match_field;

    use super::*;

    fn field(kind: match_field::MatchType, width: i32, name: &str) -> MatchField {
        let kind = match_field::Match::MatchType(kind.into());
        MatchField { name: name.into(), bitwidth: width, r#match: Some(kind), ..Default::default() }
    }

    #[test]
    fn numbers_have_many_forms() {
        let parse = |text, width| parse_number(text, width).map(|n| n.to_string());
        for (text, width, value) in [
            ("7", 3, "7"),
            ("0x1F", 8, "31"),
            ("0b101", 8, "5"),
            ("-1", 8, "255"),
            ("true", 1, "1"),
            ("10.0.0.1", 32, "167772161"),
            ("02:00:00:00:00:01", 48, "2199023255553"),
            ("::1", 128, "1"),
            ("2001:db8::", 128, "42540766411282592856903984951653826560"),
        ] {
            assert_eq!(parse(text, width).as_deref(), Ok(value), "{text}");
        }
        for (text, width) in [("8", 3), ("-129", 7), ("10.0.0.1", 16), ("x", 8), ("", 8), ("0x", 8), ("1:2", 128)] {
            assert!(parse(text, width).is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_has_the_width_of_its_value() {
        let mac = "expected a number of 48 bits or a MAC address (such as 7, 0x1f, 02:00:00:00:00:01)";
        let ipv6 = "expected a number of 128 bits or an IPv6 address (such as 7, 0x1f, 2001:db8::1)";
        for (text, width, message) in [
            ("10.0.0.1", 48, format!("`10.0.0.1` has 32 bits: {mac}")),
            ("::1", 48, format!("`::1` has 128 bits: {mac}")),
            ("10.0.0.1", 128, format!("`10.0.0.1` has 32 bits: {ipv6}")),
            (
                "02:00:00:00:00:01",
                64,
                "`02:00:00:00:00:01` has 48 bits: expected a number of 64 bits (such as 7, 0x1f)".into(),
            ),
            ("dog", 48, format!("`dog`: {mac}")),
        ] {
            assert_eq!(parse_number(text, width).unwrap_err().to_string(), message);
        }
        assert_eq!(parse_number("00:00:00:00:00:00:00:01", 64), Ok(1u8.into()));
        assert_eq!(parse_number("01:02", 9), Ok(0x102u16.into()));
        assert_eq!(parse_number("03:02", 9).unwrap_err().to_string(), "`03:02` does not fit 9 bits");
    }

    #[test]
    fn matches_are_printed_as_they_are_read() {
        use match_field::MatchType as Kind;
        for (kind, width, name, text) in [
            (Kind::Exact, 48, "hdr.ethernet.dst", "02:00:00:00:00:01"),
            (Kind::Exact, 16, "hdr.ethernet.type", "0x800"),
            (Kind::Lpm, 32, "hdr.ipv4.dst", "10.0.0.0/8"),
            (Kind::Lpm, 128, "hdr.ipv6.dst", "2001:db8::/32"),
            (Kind::Ternary, 32, "hdr.ipv4.src", "10.0.0.1"),
            (Kind::Ternary, 32, "hdr.ipv4.src", "10.0.0.0/8"),
            (Kind::Ternary, 32, "hdr.ipv4.src", "10.0.0.1&&&255.0.0.255"),
            (Kind::Ternary, 9, "port", "1&&&257"),
            (Kind::Range, 8, "hdr.ipv4.ttl", "1..30"),
            (Kind::Optional, 8, "hdr.ipv4.protocol", "17"),
        ] {
            let field = field(kind, width, name);
            let parsed = parse_match(&field, text).unwrap().unwrap();
            let format = field_format(&field);
            assert_eq!(match_text(format, width as u32, &parsed), text);
        }
    }

    #[test]
    fn other_forms_of_matches() {
        use match_field::MatchType as Kind;
        let ip = |kind| field(kind, 32, "hdr.ipv4.src");
        let same = |kind, a, b| assert_eq!(parse_match(&ip(kind), a), parse_match(&ip(kind), b), "{a} {b}");
        same(Kind::Ternary, "10.0.0.0/8", "10.0.0.0&&&255.0.0.0");
        same(Kind::Ternary, "10.0.0.0/255.0.0.0", "0xa000000&&&0xff000000");
        same(Kind::Lpm, "10.0.0.0/255.0.0.0", "10.0.0.0/8");
        same(Kind::Lpm, "10.0.0.1", "10.0.0.1/32");
        same(Kind::Range, "5", "5..5");
        for (kind, text) in [(Kind::Ternary, "*"), (Kind::Lpm, "0.0.0.0/0"), (Kind::Range, "0..0xffffffff")] {
            assert_eq!(parse_match(&ip(kind), text), Ok(None));
        }
        for (kind, text) in [
            (Kind::Exact, "*"),
            (Kind::Lpm, "10.0.0.1/8"),
            (Kind::Lpm, "10.0.0.0/33"),
            (Kind::Lpm, "10.0.0.0/255.0.255.0"),
            (Kind::Ternary, "10.0.0.1&&&255.0.0.0"),
            (Kind::Range, "9..3"),
        ] {
            assert!(parse_match(&ip(kind), text).is_err(), "{text}");
        }
        let failure = parse_match(&ip(Kind::Lpm), "10.0.0.1/8").unwrap_err().to_string();
        assert!(failure.contains("did you mean 10.0.0.0"), "{failure}");
    }
}
