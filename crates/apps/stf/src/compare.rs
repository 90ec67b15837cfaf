//! Packets that left against packets expected.

use crate::script::Pattern;

impl Pattern {
    /// Whether a packet is as expected: every nibble written is there; more may follow unless the pattern is exact.
    pub fn matches(&self, packet: &[u8]) -> bool {
        let nibbles = packet.len() * 2;
        if nibbles < self.nibbles.len() || (self.exact && nibbles > self.nibbles.len()) {
            return false;
        }
        let found = packet.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        self.nibbles.iter().zip(found).all(|(wanted, found)| wanted.is_none_or(|w| w == found))
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for nibble in &self.nibbles {
            match nibble {
                Some(digit) => write!(f, "{digit:x}")?,
                None => f.write_str("*")?,
            }
        }
        if self.exact { f.write_str("$") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use crate::script::{Command, parse};

    fn matches(pattern: &str, packet: &[u8]) -> bool {
        let script = parse("t", &format!("expect 1 {pattern}")).unwrap();
        match &script.commands[0].1 {
            Command::Expect { pattern: Some(pattern), .. } => pattern.matches(packet),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nibbles_are_compared_and_more_may_follow() {
        assert!(matches("1*", &[0x1f, 2]));
        assert!(!matches("1*", &[0x2f]));
        assert!(!matches("1* $", &[0x1f, 2]));
        assert!(matches("1* $", &[0x1f]));
        assert!(!matches("1f 02", &[0x1f]));
        assert!(matches("AB", &[0xab]));
    }
}
