//! ISD-AS numbers, as text (`1-ff00:0:110`) and as 64 bits on the wire.
//!
//! Format: <https://docs.scion.org/en/latest/protocols/assigned-as-numbers.html>.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error as _};

/// An AS with its isolation domain: ISD in the upper 16 bits, AS in the lower 48.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IsdAs(pub u64);

/// The error that a text is not an ISD-AS number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an ISD-AS number: {why}")]
pub struct BadIsdAs {
    text: String,
    why: &'static str,
}

impl IsdAs {
    /// The isolation domain.
    pub fn isd(self) -> u16 {
        (self.0 >> 48) as u16
    }

    /// The number of the AS, 48 bits.
    pub fn asn(self) -> u64 {
        self.0 & 0xffff_ffff_ffff
    }

    /// Whether it stands for any ISD or any AS. No real AS has such a number.
    pub fn is_wildcard(self) -> bool {
        self.isd() == 0 || self.asn() == 0
    }
}

impl FromStr for IsdAs {
    type Err = BadIsdAs;

    fn from_str(text: &str) -> Result<IsdAs, BadIsdAs> {
        let bad = |why| BadIsdAs { text: text.to_string(), why };
        let (isd, asn) = text.split_once('-').ok_or_else(|| bad("expected ISD-AS, as in 1-ff00:0:110"))?;
        if !isd.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad("the ISD is not a decimal number"));
        }
        let isd: u16 = isd.parse().map_err(|_| bad("the ISD is not a number of 16 bits"))?;
        let parts: Vec<&str> = asn.split(':').collect();
        let asn = match parts.as_slice() {
            [bgp] if bgp.bytes().all(|b| b.is_ascii_digit()) => {
                u64::from(bgp.parse::<u32>().map_err(|_| bad("a decimal AS has 32 bits"))?)
            }
            [_] => return Err(bad("expected a decimal AS or three groups of hex digits")),
            [_, _, _] => parts.iter().try_fold(0u64, |asn, part| {
                let hex = !part.is_empty() && part.bytes().all(|b| b.is_ascii_hexdigit());
                let part = hex.then(|| u16::from_str_radix(part, 16).ok()).flatten();
                part.map(|p| asn << 16 | u64::from(p)).ok_or_else(|| bad("a group of the AS is not 16 bits in hex"))
            })?,
            _ => return Err(bad("the AS has three groups of hex digits")),
        };
        Ok(IsdAs(u64::from(isd) << 48 | asn))
    }
}

impl fmt::Display for IsdAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asn = self.asn();
        if asn <= u64::from(u32::MAX) {
            write!(f, "{}-{}", self.isd(), asn)
        } else {
            write!(f, "{}-{:x}:{:x}:{:x}", self.isd(), asn >> 32, asn >> 16 & 0xffff, asn & 0xffff)
        }
    }
}

impl<'de> Deserialize<'de> for IsdAs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<IsdAs, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_wire_form() {
        for (text, wire) in [
            ("1-ff00:0:110", 0x0001_ff00_0000_0110),
            ("65535-ffff:ffff:ffff", u64::MAX),
            ("2-64512", 0x0002_0000_0000_fc00),
            ("1-4294967295", 0x0001_0000_ffff_ffff),
            ("0-0", 0),
        ] {
            assert_eq!(text.parse(), Ok(IsdAs(wire)));
            assert_eq!(IsdAs(wire).to_string(), text);
        }
        assert_eq!("1-0:0:1".parse(), Ok(IsdAs(0x0001_0000_0000_0001)));
    }

    #[test]
    fn what_is_no_number() {
        for text in
            ["", "1", "1-", "-1", "1-4294967296", "65536-1", "1-ff00:0", "1-ff00:0:0:1", "1-10000:0:1", "1-:0:1"]
        {
            assert!(text.parse::<IsdAs>().is_err(), "{text}");
        }
        for text in ["1-ff00:0:1-2", "+1-1", "1-+1", "1-g:0:1", " 1-1", "1-1 "] {
            assert!(text.parse::<IsdAs>().is_err(), "{text}");
        }
    }
}
