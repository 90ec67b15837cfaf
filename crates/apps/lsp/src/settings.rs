//! What a client configures: `initializationOptions`, and the section `hopwright` of its settings.

use std::path::{Path, PathBuf};

use hopwright_lint::Target;
use hopwright_syntax::{Buffers, Options};
use serde::Deserialize;

/// The settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Settings {
    /// Folders that `#include` searches, as of `-I`; relative ones are in the workspace's first folder.
    pub include_paths: Vec<PathBuf>,
    /// Macros, as of `-D`.
    pub defines: Vec<String>,
    /// Targets that programs may have to run on, as of `--portable`: what they do not have is a warning. Others are ignored.
    pub portable: Vec<String>,
    pub inlay_hints: InlayHints,
    /// Milliseconds without a change before diagnostics are sent.
    pub debounce: u64,
}

/// Which inlay hints are shown.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct InlayHints {
    /// Bits of fields in their header.
    pub field_offsets: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            include_paths: Vec::new(),
            defines: Vec::new(),
            portable: Vec::new(),
            inlay_hints: InlayHints::default(),
            debounce: 50,
        }
    }
}

impl Default for InlayHints {
    fn default() -> InlayHints {
        InlayHints { field_offsets: true }
    }
}

impl Settings {
    /// Reads settings, with or without `hopwright` around them; `null` stands for the defaults.
    pub(crate) fn read(value: &serde_json::Value) -> Result<Settings, serde_json::Error> {
        let value = value.get("hopwright").unwrap_or(value);
        if value.is_null() { Ok(Settings::default()) } else { Settings::deserialize(value) }
    }

    /// The include paths, from the folder that relative ones are in.
    pub(crate) fn include_paths(&self, folder: Option<&Path>) -> Vec<PathBuf> {
        let absolute = |p: &PathBuf| folder.map_or_else(|| p.clone(), |f| f.join(p));
        self.include_paths.iter().map(absolute).collect()
    }

    /// The targets that are known.
    pub(crate) fn targets(&self) -> Vec<Target> {
        self.portable.iter().filter_map(|name| Target::by_name(name)).collect()
    }

    /// Options of the compiler.
    pub(crate) fn options(&self, folder: Option<&Path>, buffers: &Buffers) -> Options {
        let include_paths = self.include_paths(folder);
        let mut options = Options { include_paths, buffers: buffers.clone(), ..Options::default() };
        self.defines.iter().for_each(|d| options.define(d));
        options
    }
}
