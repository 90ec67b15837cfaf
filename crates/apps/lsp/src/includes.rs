//! Which files of the workspace include which: an include file is checked as part of a program that includes it.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use hopwright_syntax::{Buffers, canonical};

use crate::lexer::{self, Kind};

/// Most files of a workspace that are looked at.
const MAX_FILES: usize = 20_000;
/// Largest file that is looked at, in bytes.
const MAX_SIZE: u64 = 4 << 20;
/// Folders without sources.
const SKIPPED: [&str; 4] = ["node_modules", "target", "build", "__pycache__"];

/// What a file's directives and declarations say, read without the preprocessor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Outline {
    includes: BTreeSet<PathBuf>,
    /// Whether it has any `#include`, built-in ones among them.
    any_include: bool,
    /// Whether it instantiates `main`.
    has_main: bool,
}

/// The files of a workspace.
#[derive(Debug, Default)]
pub(crate) struct Includes {
    files: BTreeMap<PathBuf, Outline>,
}

impl Includes {
    /// Reads the P4 files in these folders.
    pub(crate) fn scan(&mut self, folders: &[PathBuf], buffers: &Buffers, include_paths: &[PathBuf]) {
        self.files.clear();
        let mut seen = HashSet::new();
        let mut waiting: VecDeque<PathBuf> = folders.iter().map(|f| canonical(f)).collect();
        while let Some(folder) = waiting.pop_front() {
            if !seen.insert(folder.clone()) {
                continue;
            }
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                let (path, name) = (entry.path(), entry.file_name());
                let name = name.to_string_lossy();
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&&*name) {
                    waiting.push_back(path);
                } else if kind.is_file() && is_source(&path) && self.files.len() < MAX_FILES {
                    self.update(&path, buffers, include_paths);
                }
            }
        }
        let open: Vec<PathBuf> = buffers.paths().map(Path::to_path_buf).collect();
        open.iter().for_each(|path| self.update(path, buffers, include_paths));
    }

    /// Reads one file again.
    pub(crate) fn update(&mut self, path: &Path, buffers: &Buffers, include_paths: &[PathBuf]) {
        let small = std::fs::metadata(path).is_ok_and(|m| m.len() <= MAX_SIZE);
        let text = match buffers.get(path) {
            Some(text) => text.to_string(),
            None if small => match std::fs::read(path) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(_) => return self.remove(path),
            },
            None => return self.remove(path),
        };
        self.files.insert(path.to_path_buf(), outline(path, &text, buffers, include_paths));
    }

    /// Forgets a file.
    pub(crate) fn remove(&mut self, path: &Path) {
        self.files.remove(path);
    }

    /// Whether a file is a part that makes no sense alone: it neither includes anything nor has `main`.
    pub(crate) fn is_fragment(&self, path: &Path) -> bool {
        self.files.get(path).is_some_and(|f| !f.any_include && !f.has_main)
    }

    /// The programs that a file belongs to: itself if it has `main`, else those that include it, nearest first; itself if there are
    /// none.
    pub(crate) fn programs(&self, path: &Path) -> Vec<PathBuf> {
        if self.files.get(path).is_some_and(|f| f.has_main) {
            return vec![path.to_path_buf()];
        }
        let mut found = self.including(path);
        found.retain(|p| self.files[p].has_main);
        if found.is_empty() { vec![path.to_path_buf()] } else { found }
    }

    /// All files that include a file, directly or not, nearest first.
    pub(crate) fn including(&self, path: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut seen = HashSet::from([path.to_path_buf()]);
        let mut waiting = VecDeque::from([path.to_path_buf()]);
        while let Some(included) = waiting.pop_front() {
            for (by, outline) in &self.files {
                if outline.includes.contains(&included) && seen.insert(by.clone()) {
                    found.push(by.clone());
                    waiting.push_back(by.clone());
                }
            }
        }
        found
    }
}

/// Whether a file is P4 by its name.
pub(crate) fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "p4" || e == "p4inc" || e == "p4h")
}

fn outline(path: &Path, text: &str, buffers: &Buffers, include_paths: &[PathBuf]) -> Outline {
    let mut outline = Outline::default();
    let pieces = lexer::pieces(text);
    for (i, piece) in pieces.iter().enumerate() {
        match piece.kind {
            Kind::Directive => {
                let Some((name, angled)) = included(piece.text(text)) else { continue };
                outline.any_include = true;
                if let Some(found) = find(path, name, angled, buffers, include_paths) {
                    outline.includes.insert(found);
                }
            }
            Kind::Word if piece.text(text) == "main" => {
                outline.has_main |= pieces.get(i + 1).is_some_and(|p| p.text(text) == ";")
                    && i.checked_sub(1).is_some_and(|b| pieces[b].text(text) == ")");
            }
            _ => {}
        }
    }
    outline
}

/// The name in an `#include` directive, and whether it stands in angle brackets.
pub(crate) fn included(directive: &str) -> Option<(&str, bool)> {
    let rest = directive.strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let (angled, end) = match rest.chars().next()? {
        '<' => (true, '>'),
        '"' => (false, '"'),
        _ => return None,
    };
    let name = &rest[1..];
    Some((&name[..name.find(end)?], angled))
}

/// The file on disk that an `#include` of a file stands for.
pub(crate) fn find(
    from: &Path,
    name: &str,
    angled: bool,
    buffers: &Buffers,
    include_paths: &[PathBuf],
) -> Option<PathBuf> {
    let here = from.parent().map(Path::to_path_buf).filter(|_| !angled);
    let folders = here.iter().chain(include_paths);
    folders.map(|f| f.join(name)).find(|p| p.is_file() || buffers.get(p).is_some()).map(|p| canonical(&p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn include_files_belong_to_the_programs_that_include_them() {
        let folder = tempfile::tempdir().unwrap();
        let folder = canonical(folder.path());
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("a.p4", "#include \"sub/b.p4\"\nV1Switch(P()) main;\n");
        write("sub/b.p4", "#include \"../c.p4\"\n");
        write("c.p4", "const bit<8> X = 1;\n");
        write("alone.p4", "#include <core.p4>\n// V1Switch(P()) main;\n");
        let mut includes = Includes::default();
        includes.scan(std::slice::from_ref(&folder), &Buffers::default(), &[]);
        assert_eq!(includes.programs(&folder.join("c.p4")), [folder.join("a.p4")]);
        assert_eq!(includes.including(&folder.join("c.p4")), [folder.join("sub/b.p4"), folder.join("a.p4")]);
        assert_eq!(includes.programs(&folder.join("a.p4")), [folder.join("a.p4")]);
        assert_eq!(includes.programs(&folder.join("alone.p4")), [folder.join("alone.p4")]);
        assert!(includes.is_fragment(&folder.join("c.p4")) && !includes.is_fragment(&folder.join("alone.p4")));
    }

    #[test]
    fn names_of_include_directives() {
        assert_eq!(included("#include <core.p4>"), Some(("core.p4", true)));
        assert_eq!(included("# include \"a b.p4\" // x"), Some(("a b.p4", false)));
        assert_eq!(included("#include NAME"), None);
        assert_eq!(included("#define include"), None);
    }
}
