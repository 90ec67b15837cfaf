//! Notices changes of files, by inotify.
//!
//! It watches the folders rather than the files, because editors, package managers and configuration tools replace
//! files by new ones.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};

use inotify::{EventMask, Inotify, WatchMask};

/// Watches a set of files.
pub struct FileWatch {
    inotify: Inotify,
    folders: BTreeSet<PathBuf>,
    names: BTreeSet<OsString>,
}

impl FileWatch {
    /// Starts to watch. Folders that do not exist are not watched.
    pub fn new(files: &[PathBuf]) -> io::Result<FileWatch> {
        let mut folders = BTreeSet::new();
        // Container managers switch volumes by this link.
        let mut names = BTreeSet::from([OsString::from("..data")]);
        for file in files {
            let folder = match file.parent() {
                Some(folder) if folder != Path::new("") => folder.to_path_buf(),
                _ => PathBuf::from("."),
            };
            // A folder may be replaced as a whole.
            if let (Some(outer), Some(name)) = (folder.parent(), folder.file_name()) {
                folders.insert(if outer == Path::new("") { PathBuf::from(".") } else { outer.to_path_buf() });
                names.insert(name.to_os_string());
            }
            folders.insert(folder);
            names.extend(file.file_name().map(ToOwned::to_owned));
        }
        let watch = FileWatch { inotify: Inotify::init()?, folders, names };
        watch.add_folders();
        Ok(watch)
    }

    /// Watches the folders that exist; those already watched stay so.
    fn add_folders(&self) {
        let mask = WatchMask::CLOSE_WRITE
            | WatchMask::CREATE
            | WatchMask::MOVED_TO
            | WatchMask::MOVED_FROM
            | WatchMask::DELETE
            | WatchMask::ONLYDIR;
        for folder in &self.folders {
            if let Err(error) = self.inotify.watches().add(folder, mask) {
                tracing::debug!(folder = %folder.display(), %error, "cannot watch a folder");
            }
        }
    }

    /// Readable when there are events.
    pub fn fd(&self) -> RawFd {
        self.inotify.as_raw_fd()
    }

    /// Whether one of the files may have changed since the last call.
    pub fn changed(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let mut changed = false;
        loop {
            match self.inotify.read_events(&mut buffer) {
                Ok(events) => {
                    for event in events {
                        let lost = event.mask.contains(EventMask::Q_OVERFLOW);
                        changed |= lost || event.name.is_some_and(|name| self.names.contains(name));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        if changed {
            self.add_folders();
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_and_their_folders_may_be_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("keys")).unwrap();
        fs::write(at("topology.json"), "1").unwrap();
        let mut watch = FileWatch::new(&[at("topology.json"), at("keys/master0.key")]).unwrap();
        assert!(!watch.changed());
        fs::write(at("topology.json"), "2").unwrap();
        assert!(watch.changed() && !watch.changed());
        fs::write(at("stats.json"), "not ours").unwrap();
        assert!(!watch.changed());
        fs::write(at("new"), "3").unwrap();
        fs::rename(at("new"), at("topology.json")).unwrap();
        assert!(watch.changed());
        fs::write(at("keys/master0.key"), "4").unwrap();
        assert!(watch.changed());
        fs::create_dir(at("keys2")).unwrap();
        fs::remove_dir_all(at("keys")).unwrap();
        fs::rename(at("keys2"), at("keys")).unwrap();
        assert!(watch.changed());
        fs::write(at("keys/master0.key"), "5").unwrap();
        assert!(watch.changed(), "in the new folder");
    }
}
