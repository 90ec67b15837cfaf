//! Files that a command writes into a folder, and writes anew when it runs again.
//!
//! A list in the folder has their names and hashes. What is not in it, or has been changed since, belongs to somebody else and is not
//! overwritten.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::failure::Failure;

/// The list: a line for each file, its hash and its name.
const LIST: &str = ".hopwright-files";

/// Hashes by the names of files.
type Hashes = BTreeMap<String, BTreeSet<u64>>;

/// Writes files, by names, into a folder, and prints their paths. If one of them would replace a file of somebody else, none is written.
pub(crate) fn write(folder: &Path, files: &[(String, String)]) -> Result<(), Failure> {
    let mut known = read(folder);
    for (name, text) in files {
        let path = folder.join(name);
        let Ok(there) = std::fs::read(&path) else { continue };
        let ours = known.get(name).is_some_and(|hashes| hashes.contains(&hash(&there)));
        if !ours && there != text.as_bytes() {
            let changed = if known.contains_key(name) { "has been changed" } else { "is not of this command" };
            let advice = "move it away, or name another folder with -o";
            return Err(Failure::message(format!("{} is there already and {changed}: {advice}", path.display())));
        }
    }
    // If it ends in between, there are old files and new ones.
    for (name, text) in files {
        known.entry(name.clone()).or_default().insert(hash(text.as_bytes()));
    }
    put(folder, LIST, &listed(&known))?;
    for (name, text) in files {
        put(folder, name, text)?;
        println!("{}", folder.join(name).display());
    }
    for (name, text) in files {
        known.insert(name.clone(), BTreeSet::from([hash(text.as_bytes())]));
    }
    put(folder, LIST, &listed(&known))
}

fn read(folder: &Path) -> Hashes {
    let mut hashes = Hashes::new();
    for line in std::fs::read_to_string(folder.join(LIST)).unwrap_or_default().lines() {
        if let Some((hash, name)) = line.split_once(' ')
            && let Ok(hash) = u64::from_str_radix(hash, 16)
        {
            hashes.entry(name.to_string()).or_default().insert(hash);
        }
    }
    hashes
}

fn listed(hashes: &Hashes) -> String {
    let lines = hashes.iter().flat_map(|(name, hashes)| hashes.iter().map(move |hash| format!("{hash:016x} {name}\n")));
    lines.collect()
}

fn put(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let path = folder.join(name);
    let failed = |e| Failure::message(format!("{}: {e}", path.display()));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(&path, text).map_err(failed)
}

/// FNV-1a, which stays the same from version to version.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(makefile: &str) -> Vec<(String, String)> {
        vec![("l2.sv".into(), "module l2;".into()), ("simulation/Makefile".into(), makefile.into())]
    }

    fn refused(folder: &Path, files: &[(String, String)]) -> String {
        match write(folder, files) {
            Err(Failure::Error(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_files_of_the_command_are_overwritten() {
        let folder = std::env::temp_dir().join(format!("hopwright-written-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let (folder, makefile) = (folder.as_path(), folder.join("simulation/Makefile"));
        let there = || std::fs::read_to_string(&makefile).unwrap();
        std::fs::create_dir_all(folder.join("simulation")).unwrap();
        std::fs::write(&makefile, "mine").unwrap();
        let error = refused(folder, &files("one"));
        assert!(error.contains("Makefile is there already and is not of this command"), "{error}");
        assert_eq!(there(), "mine");
        assert!(!folder.join("l2.sv").exists(), "nothing is half done");
        // The same text may be there.
        std::fs::write(&makefile, "one").unwrap();
        write(folder, &files("one")).unwrap();
        // What it has written, it writes anew, beside files of another program.
        write(folder, &[("l3.sv".into(), "module l3;".into())]).unwrap();
        write(folder, &files("two")).unwrap();
        assert_eq!(there(), "two");
        std::fs::write(&makefile, "changed").unwrap();
        let error = refused(folder, &files("three"));
        assert!(error.contains("has been changed"), "{error}");
        assert_eq!(there(), "changed");
        write(folder, &[("l3.sv".into(), "module l3; endmodule".into())]).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }
}
