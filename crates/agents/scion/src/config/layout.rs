//! How the program is spread over the pipes of a switch chip: `layout` of `hopwright.toml`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How the program is spread over pipes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layout {
    /// Not at all.
    #[default]
    #[serde(rename = "plain")]
    Plain,
    /// A border router in every pipe; an AES core computes the MACs.
    #[serde(rename = "1br")]
    OneBr,
    /// A pipe with a border router, and one that computes the MACs.
    #[serde(rename = "1br+1aes")]
    OneBrOneAes,
    /// A pipe with a border router, and two that compute the MACs one after the other.
    #[serde(rename = "1br+2aes")]
    OneBrTwoAes,
    /// Two pipes with a border router, and two that compute the MACs.
    #[serde(rename = "2br+2aes")]
    TwoBrTwoAes,
}

impl Layout {
    /// All layouts.
    pub const ALL: [Layout; 5] =
        [Layout::Plain, Layout::OneBr, Layout::OneBrOneAes, Layout::OneBrTwoAes, Layout::TwoBrTwoAes];

    /// The name in `hopwright.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Plain => "plain",
            Layout::OneBr => "1br",
            Layout::OneBrOneAes => "1br+1aes",
            Layout::OneBrTwoAes => "1br+2aes",
            Layout::TwoBrTwoAes => "2br+2aes",
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for layout in Layout::ALL {
            assert_eq!(serde_json::to_value(layout).unwrap(), layout.name());
        }
    }
}
