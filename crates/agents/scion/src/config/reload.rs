//! How a running router follows changes of its files.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{duration, duration_text};

/// `[reload]` of `hopwright.toml`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReloadSettings {
    /// Apply changed files automatically; otherwise only on SIGHUP.
    pub watch_files: bool,
    /// How long the previous key stays valid after `master0.key` has changed; zero: not at all.
    #[serde(deserialize_with = "duration", serialize_with = "duration_text")]
    pub key_overlap: Duration,
    /// Whether hop fields made with the next key, `master1.key`, are already valid.
    pub accept_next_key: bool,
}

impl Default for ReloadSettings {
    fn default() -> ReloadSettings {
        ReloadSettings { watch_files: true, key_overlap: Duration::ZERO, accept_next_key: false }
    }
}
