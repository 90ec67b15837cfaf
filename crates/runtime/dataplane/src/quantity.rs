//! Numbers with a unit: rates with decimal ones (`250`, `"10k"`, `"1.5M"`, `"2G"`), memory with binary ones (`"64M"`).

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// A number of packets or bits a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity(pub u64);

/// A text that is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no quantity: expected a whole number, or a number with k, M, G or T for thousands, millions and so on"
)]
pub struct UnknownQuantity(String);

impl FromStr for Quantity {
    type Err = UnknownQuantity;

    fn from_str(text: &str) -> Result<Quantity, UnknownQuantity> {
        let wrong = || UnknownQuantity(text.to_string());
        let text = text.trim();
        let (number, zeros) = match text.char_indices().next_back() {
            Some((at, 'k' | 'K')) => (&text[..at], 3),
            Some((at, 'M')) => (&text[..at], 6),
            Some((at, 'G')) => (&text[..at], 9),
            Some((at, 'T')) => (&text[..at], 12),
            _ => (text, 0),
        };
        let (whole, fraction) = number.trim_end().split_once('.').unwrap_or((number.trim_end(), ""));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > zeros || number.ends_with('.') {
            return Err(wrong());
        }
        format!("{whole}{fraction:0<zeros$}").parse().map(Quantity).map_err(|_| wrong())
    }
}

/// A number of bytes of memory: `65536`, `"64K"`, `"1.5G"`. The letters K, M, G and T are powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// A text that is no number of bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no amount of memory: expected a number of bytes, or a number with K, M, G or T for powers of 1024")]
pub struct UnknownBytes(String);

impl FromStr for Bytes {
    type Err = UnknownBytes;

    fn from_str(text: &str) -> Result<Bytes, UnknownBytes> {
        let wrong = || UnknownBytes(text.to_string());
        let number = text.trim();
        let number = number.strip_suffix("iB").unwrap_or(number);
        let (number, shift) = match number.char_indices().next_back() {
            Some((at, 'k' | 'K')) => (&number[..at], 10),
            Some((at, 'M')) => (&number[..at], 20),
            Some((at, 'G')) => (&number[..at], 30),
            Some((at, 'T')) => (&number[..at], 40),
            _ if number.len() < text.trim().len() => return Err(wrong()),
            _ => (number, 0),
        };
        let (whole, fraction) = number.trim_end().split_once('.').unwrap_or((number.trim_end(), ""));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        // More digits would mean less than a byte, even of a tebibyte.
        let too_fine = fraction.len() > 12 || (shift == 0 && !fraction.is_empty());
        if whole.is_empty() || !digits(whole) || !digits(fraction) || too_fine || number.ends_with('.') {
            return Err(wrong());
        }
        let thousandths = 10u128.pow(fraction.len() as u32);
        let number: u128 = format!("{whole}{fraction}").parse().map_err(|_| wrong())?;
        let bytes = number.checked_mul(1 << shift).ok_or_else(wrong)? / thousandths;
        u64::try_from(bytes).map(Bytes).map_err(|_| wrong())
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0 >> shift > 0 {
                let tenths = (u128::from(self.0) * 10) >> shift;
                let (whole, tenth) = (tenths / 10, tenths % 10);
                return if tenth == 0 { write!(f, "{whole} {unit}") } else { write!(f, "{whole}.{tenth} {unit}") };
            }
        }
        write!(f, "{} bytes", self.0)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, letter) in [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")] {
            if self.0 >= unit && self.0.is_multiple_of(unit / 1000) {
                return write!(f, "{}{letter}", self.0 as f64 / unit as f64);
            }
        }
        write!(f, "{}", self.0)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Quantity, D::Error> {
        number_or_text(deserializer, Quantity)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        number_or_text(deserializer, Bytes)
    }
}

/// Reads a number, or a text that is parsed.
fn number_or_text<'de, D, T>(deserializer: D, of_number: fn(u64) -> T) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    struct Text<T>(fn(u64) -> T);
    impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Text<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number, or a text such as \"1M\"")
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
            let negative = || E::custom(format!("{number} is negative"));
            u64::try_from(number).map(self.0).map_err(|_| negative())
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
            Ok((self.0)(number))
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }
    deserializer.deserialize_any(Text(of_number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_binary_units() {
        for (text, bytes) in
            [("0", 0), ("65536", 65536), ("64K", 64 << 10), ("1.5G", 3 << 29), ("64 MiB", 64 << 20), ("2T", 2 << 40)]
        {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "M", "1.5", "-1", "64B", "1iB", "1e9", "99999999999999999999T", "1.M", "64MB"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        let texts = [0, 1023, 1024, 3 << 29, (64 << 20) + 1, u64::MAX].map(|bytes| Bytes(bytes).to_string());
        assert_eq!(texts, ["0 bytes", "1023 bytes", "1 KiB", "1.5 GiB", "64 MiB", "16777215.9 TiB"]);
    }
}
