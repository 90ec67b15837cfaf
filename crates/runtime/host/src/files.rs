//! Bounded reading of regular files, for configuration and keys; writing of files that others read meanwhile.
//!
//! Opening never blocks, so a FIFO, a device or an endless file in the place of a configuration file is an error, and
//! neither hangs a thread nor exhausts memory.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use zeroize::Zeroizing;

/// Least capacity of the buffer. Files below /proc claim to be empty.
const CAPACITY: usize = 4096;

/// Reads a regular file of at most `limit` bytes. The result is wiped when dropped and was never copied.
pub fn read(file: &Path, limit: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    // Without O_NONBLOCK, opening a FIFO waits for a writer.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(file)?;
    let metadata = opened.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let too_long = || io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than {limit} bytes"));
    let length = usize::try_from(metadata.len()).ok().filter(|l| *l <= limit).ok_or_else(too_long)?;
    // With spare capacity, because a vector that grows leaves copies of its contents behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(length.max(CAPACITY) + 64));
    opened.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(too_long());
    }
    Ok(bytes)
}

/// As [`read`], of a file with UTF-8 text.
pub fn read_text(file: &Path, limit: usize) -> io::Result<String> {
    let bytes = read(file, limit)?;
    let text = std::str::from_utf8(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(text.to_string())
}

/// Writes a file anew. Readers see either the old or the new file, never a part of one. What is no regular file, such as
/// `/dev/stdout`, is written to.
pub fn replace(file: &Path, contents: &[u8]) -> io::Result<()> {
    if std::fs::metadata(file).is_ok_and(|metadata| !metadata.is_file()) {
        return std::fs::write(file, contents);
    }
    let mut name = file.file_name().unwrap_or_default().to_os_string();
    name.push(".new");
    let new = file.with_file_name(name);
    std::fs::write(&new, contents)?;
    std::fs::rename(&new, file)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn regular_files_of_bounded_size() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("good"), "12345").unwrap();
        assert_eq!(read_text(&at("good"), 5).unwrap(), "12345");
        assert_eq!(read(&at("good"), 4).unwrap_err().to_string(), "longer than 4 bytes");
        std::fs::write(at("binary"), [0xff, 0xfe]).unwrap();
        assert_eq!(read_text(&at("binary"), 5).unwrap_err().kind(), io::ErrorKind::InvalidData);
        std::os::unix::fs::symlink(at("good"), at("link")).unwrap();
        assert_eq!(read_text(&at("link"), 5).unwrap(), "12345");
        let made = std::process::Command::new("mkfifo").arg(at("fifo")).status().unwrap();
        assert!(made.success());
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        let start = Instant::now();
        for odd in ["fifo", "zero", "."] {
            assert_eq!(read(&at(odd), 1 << 20).unwrap_err().to_string(), "not a regular file", "{odd}");
        }
        assert!(start.elapsed() < Duration::from_secs(60));
        assert_eq!(read(&at("absent"), 5).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_is_replaced_while_another_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("stats.json");
        replace(&file, b"first").unwrap();
        let mut reader = std::fs::File::open(&file).unwrap();
        replace(&file, b"2").unwrap();
        let mut seen = String::new();
        reader.read_to_string(&mut seen).unwrap();
        assert_eq!((seen.as_str(), std::fs::read(&file).unwrap().as_slice()), ("first", b"2".as_slice()));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        replace(Path::new("/dev/null"), b"nobody reads this").unwrap();
        assert!(!Path::new("/dev/null.new").exists());
        assert_eq!(replace(dir.path(), b"").unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }
}
