//! Integer literals: `8w0xff`, `4s7`, `1_000`.

use num_bigint::BigInt;

use crate::ast::{IntLit, IntWidth};

/// Longest integer literal in digits; no type is that wide.
const MAX_DIGITS: usize = 10_000;

/// Reads an integer literal; the error describes what is wrong.
pub(super) fn int_literal(text: &str) -> Result<IntLit, String> {
    let digits_only = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let (width, rest) = match text.find(['w', 's']) {
        Some(at) if digits_only(&text[..at]) => {
            let bits: u32 = text[..at].parse().map_err(|_| format!("a width of {} bits is too large", &text[..at]))?;
            let signed = text.as_bytes()[at] == b's';
            if bits == 0 && signed {
                return Err("a signed number needs at least one bit".to_string());
            }
            (Some(IntWidth { bits, signed }), &text[at + 1..])
        }
        _ => (None, text),
    };
    let (base, digits) = match rest.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (16, &rest[2..]),
        Some("0d") => (10, &rest[2..]),
        Some("0o") => (8, &rest[2..]),
        Some("0b") => (2, &rest[2..]),
        _ => (10, rest),
    };
    let digits: String = digits.chars().filter(|&c| c != '_').collect();
    if digits.is_empty() {
        return Err("no digits".to_string());
    }
    if digits.len() > MAX_DIGITS {
        return Err(format!("more than {MAX_DIGITS} digits"));
    }
    if let Some(bad) = digits.chars().find(|c| !c.is_digit(base)) {
        return Err(format!("`{bad}` is not a digit in base {base}"));
    }
    let value = BigInt::parse_bytes(digits.as_bytes(), base).ok_or("not an integer")?;
    Ok(IntLit { value, width, base })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_literals_keep_value_width_sign_and_base() {
        let read = |text| {
            let lit = int_literal(text).unwrap();
            (lit.value.to_string(), lit.width, lit.base)
        };
        let unsigned = |bits| Some(IntWidth { bits, signed: false });
        let signed = |bits| Some(IntWidth { bits, signed: true });
        assert_eq!(read("10"), ("10".into(), None, 10));
        assert_eq!(read("010"), ("10".into(), None, 10));
        assert_eq!(read("0xFf"), ("255".into(), None, 16));
        assert_eq!(read("8w255"), ("255".into(), unsigned(8), 10));
        assert_eq!(read("8w0b1010_1010"), ("170".into(), unsigned(8), 2));
        assert_eq!(read("4s0o7"), ("7".into(), signed(4), 8));
        assert_eq!(read("32w0d1_0"), ("10".into(), unsigned(32), 10));
        assert_eq!(read("0B11"), ("3".into(), None, 2));
        let wide = format!("0x1{}", "0".repeat(64));
        assert_eq!(int_literal(&wide).unwrap().value, BigInt::from(1) << 256);
    }

    #[test]
    fn bad_integer_literals_say_why() {
        let reason = |text| int_literal(text).unwrap_err();
        assert_eq!(reason("12ab"), "`a` is not a digit in base 10");
        assert_eq!(reason("0b12"), "`2` is not a digit in base 2");
        assert_eq!(reason("0x"), "no digits");
        assert_eq!(reason("8w"), "no digits");
        assert_eq!(reason("99999999999w1"), "a width of 99999999999 bits is too large");
        assert_eq!(reason("0s1"), "a signed number needs at least one bit");
    }
}
