//! Durations as the reference's files have them.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserializer, Error as _, Visitor};
use serde::ser::Serializer;

/// The reference's durations: a whole number and one unit, as in `200ms`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let bad = || format!("`{text}` is no duration: expected a number and ns, us, ms, s, m, h, d, w or y");
    let number: u64 = number.parse().map_err(|_| bad())?;
    let nanoseconds: u64 = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        "w" => 7 * 86_400_000_000_000,
        "y" => 365 * 86_400_000_000_000,
        _ => return Err(bad()),
    };
    number.checked_mul(nanoseconds).map(Duration::from_nanos).ok_or_else(|| format!("`{text}` is too long"))
}

/// For serde fields that hold a [`parse_duration`] text.
pub(crate) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = Duration;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a duration such as \"200ms\"")
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Duration, E> {
            parse_duration(text).map_err(E::custom)
        }
    }
    deserializer.deserialize_str(Text).map_err(D::Error::custom)
}

/// The longest unit that fits, as the reference writes it.
pub(crate) fn duration_text<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    let ns = duration.as_nanos();
    let units = [("y", 365 * 86_400), ("w", 7 * 86_400), ("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
    let long = units.map(|(name, seconds)| (name, seconds * 1_000_000_000));
    let short = [("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let fits = long.iter().chain(&short).find(|(_, unit)| ns >= *unit && ns.is_multiple_of(*unit));
    let (name, unit) = fits.unwrap_or(&("s", 1_000_000_000));
    serializer.serialize_str(&format!("{}{name}", ns / unit))
}
