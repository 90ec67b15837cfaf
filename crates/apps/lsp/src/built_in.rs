//! Copies of the built-in include files, for editors to open.

use std::path::{Path, PathBuf};

/// The folder with read-only copies of `core.p4`, `v1model.p4` and so on; they are written if they are missing or differ.
pub(crate) fn folder() -> PathBuf {
    let home = || std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache"));
    let absolute = |p: PathBuf| Some(p).filter(|p| p.is_absolute());
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).and_then(absolute).or_else(home);
    let folder =
        cache.unwrap_or_else(std::env::temp_dir).join(concat!("hopwright/include-", env!("CARGO_PKG_VERSION")));
    if let Err(error) = write(&folder) {
        tracing::warn!(folder = %folder.display(), %error, "built-in include files cannot be written: they cannot be opened");
    }
    hopwright_syntax::canonical(&folder)
}

fn write(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (name, text) in hopwright_syntax::built_in_files() {
        let path = folder.join(name);
        if std::fs::read(&path).is_ok_and(|have| have == text.as_bytes()) {
            continue;
        }
        // Another server may write the same file.
        let new = folder.join(format!("{name}.{}", std::process::id()));
        std::fs::write(&new, text)?;
        let mut permissions = std::fs::metadata(&new)?.permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&new, permissions)?;
        std::fs::rename(&new, &path)?;
    }
    Ok(())
}
