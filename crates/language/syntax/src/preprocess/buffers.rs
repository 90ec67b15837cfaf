//! Texts that are read instead of files on disk.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Texts of files that an editor has open. They are read instead of the files, which may differ or not exist yet.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    texts: HashMap<PathBuf, Arc<str>>,
}

impl Buffers {
    /// Sets the text of a file.
    pub fn insert(&mut self, path: &Path, text: Arc<str>) {
        self.texts.insert(canonical(path), text);
    }

    /// Lets the file on disk be read again.
    pub fn remove(&mut self, path: &Path) {
        self.texts.remove(&canonical(path));
    }

    /// The text of a file, if it is open.
    pub fn get(&self, path: &Path) -> Option<&Arc<str>> {
        if self.texts.is_empty() {
            return None;
        }
        self.texts.get(path).or_else(|| self.texts.get(&canonical(path)))
    }

    /// The files that are open.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.texts.keys().map(PathBuf::as_path)
    }
}

/// The path without links and `..`; of a file that does not exist, with those of its folder resolved.
pub fn canonical(path: &Path) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}
