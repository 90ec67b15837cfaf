//! Names of application processes: of IPC processes, DIFs and applications.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Longest name, in bytes.
const LONGEST: usize = 64;

/// A name: 1 to 64 bytes, letters, digits and `. _ - : |`. Applications separate its components by `|`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(Arc<str>);

/// What is no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a name of 1 to 64 letters, digits and `. _ - : |`")]
pub struct NotAName;

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Name, NotAName> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:|".contains(&byte);
        if (1..=LONGEST).contains(&text.len()) && text.bytes().all(legal) {
            return Ok(Name(text.into()));
        }
        Err(NotAName)
    }
}

impl TryFrom<String> for Name {
    type Error = NotAName;

    fn try_from(text: String) -> Result<Name, NotAName> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> String {
        name.as_str().into()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
