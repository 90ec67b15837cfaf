//! What is wrong with a file, and where.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ConfigError {
    #[error("{}: {source}", file.display())]
    Read { file: PathBuf, source: std::io::Error },
    #[error("{}", list(.0))]
    Problems(Vec<Problem>),
}

/// Something that is wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; 0: the file as a whole.
    pub line: usize,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.message)
    }
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The problems of a text.
pub(super) struct Problems<'a> {
    file: &'a Path,
    text: &'a str,
    pub found: Vec<Problem>,
}

impl<'a> Problems<'a> {
    pub(super) fn new(file: &'a Path, text: &'a str) -> Problems<'a> {
        Problems { file, text, found: Vec::new() }
    }

    /// Notes a problem of a part of the text.
    pub(super) fn add(&mut self, span: Range<usize>, message: impl fmt::Display) {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        self.found.push(Problem { file: self.file.to_path_buf(), line, message: message.to_string() });
    }

    /// Notes what the TOML library says, with a hint if a key may be misspelt.
    pub(super) fn add_toml(&mut self, error: &toml::de::Error) {
        let message = with_hint(error.message());
        match error.span() {
            Some(span) => self.add(span, message),
            None => self.found.push(Problem { file: self.file.to_path_buf(), line: 0, message }),
        }
    }
}

/// Adds the nearest of the expected names to a message about an unknown one.
pub(super) fn with_hint(message: &str) -> String {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let about_names = ["unknown field `", "unknown variant `"].iter().any(|start| message.starts_with(start));
    match names.split_first() {
        Some((unknown, expected)) if about_names => match nearest(unknown, expected.iter().copied()) {
            Some(near) => format!("{message}; did you mean `{near}`?"),
            None => message.to_string(),
        },
        _ => message.to_string(),
    }
}

/// The name among those there are that was probably meant.
pub(super) fn nearest<'n>(name: &str, there: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    let with_distance = there.map(|n| (strsim::osa_distance(&name.to_lowercase(), &n.to_lowercase()), n));
    with_distance.filter(|(distance, _)| *distance <= limit).min().map(|(_, near)| near)
}
