//! Numbers with a decimal unit: `250`, `"10k"`, `"1.5M"`, `"2G"`.

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
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a text such as \"1M\"")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Quantity, E> {
                let negative = || E::custom(format!("{number} is negative"));
                u64::try_from(number).map(Quantity).map_err(|_| negative())
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Quantity, E> {
                Ok(Quantity(number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Text)
    }
}
