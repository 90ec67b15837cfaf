//! Includes: which file a name denotes, and what is read from it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hopwright_source::{Span, nearest};

use super::{Found, Home, MAX_FILES, MAX_INCLUDE_DEPTH, Preprocessor, embedded, folder, string_body};
use crate::diagnostic::Diagnostic;
use crate::token::{P, Tok};

impl Preprocessor<'_> {
    pub(super) fn include(&mut self, hash: Span) {
        let direct = match self.frames.last_mut() {
            Some(frame) => frame.lexer.header_name(self.diags),
            None => None,
        };
        let (name, angled, at) = match direct {
            Some(name) => {
                self.expect_line_end("#include");
                name
            }
            None => match self.computed_include(hash) {
                Some(name) => name,
                None => return,
            },
        };
        if self.frames.len() >= MAX_INCLUDE_DEPTH {
            self.stop("E0002", format!("include files nested more than {MAX_INCLUDE_DEPTH} deep"), at);
            return;
        }
        self.files += 1;
        if self.files > MAX_FILES {
            self.stop("E0002", "too many include files", at);
            return;
        }
        match self.find_include(&name, angled) {
            Ok(Some(found)) => {
                if self.once.contains(&found.name) {
                    return;
                }
                let directive = hash.to(at);
                let file = self.map.add(found.name.as_str(), found.text, Some(directive));
                self.push_file(file, found.home, found.name);
            }
            Ok(None) => {
                let mut diagnostic = Diagnostic::error("E0001", format!("include file `{name}` not found")).at(at, "");
                let known = super::embedded::built_in_files().iter().map(|(file, _)| *file);
                if let Some(near) = nearest(&name, known) {
                    diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
                } else if self.options.no_disk {
                    diagnostic = diagnostic.note("files on disk are not searched");
                } else if self.options.include_paths.is_empty() {
                    diagnostic = diagnostic.help(
                        "name the directory it is in: `-I DIRECTORY` of the command, `Compiler::include` of the library",
                    );
                } else {
                    let paths: Vec<String> =
                        self.options.include_paths.iter().map(|p| format!("`{}`", p.display())).collect();
                    diagnostic = diagnostic.note(format!("searched in {}", paths.join(", ")));
                }
                self.diags.push(diagnostic);
            }
            Err((path, error)) => self.diags.push(
                Diagnostic::error("E0001", format!("cannot read include file `{}`: {error}", path.display()))
                    .at(at, ""),
            ),
        }
    }

    /// `#include MACRO`: the macro's expansion must look like a file name.
    pub(super) fn computed_include(&mut self, hash: Span) -> Option<(String, bool, Span)> {
        let line = self.tokens_in_line();
        let at = line.first().zip(line.last()).map_or(hash, |(first, last)| first.span.to(last.span));
        let tokens = self.expand_list(line);
        match tokens.as_slice() {
            [only] if only.kind == Tok::Str => {
                return Some((string_body(&only.text).to_string(), false, at));
            }
            [first, middle @ .., last] if first.kind == Tok::P(P::Lt) && last.kind == Tok::P(P::Gt) => {
                let name = middle.iter().map(|t| &*t.text).collect();
                return Some((name, true, at));
            }
            _ => {}
        }
        self.diags.push(
            Diagnostic::error("E0003", "`#include` needs a file name")
                .at(at, "")
                .help("write `#include <core.p4>` or `#include \"headers.p4\"`"),
        );
        None
    }

    /// The text of a file: of its buffer, or on disk. Bytes that are not UTF-8 (in comments, mostly) become replacement characters.
    pub(super) fn read(&self, path: &Path) -> std::io::Result<Arc<str>> {
        if let Some(text) = self.options.buffers.get(path) {
            return Ok(text.clone());
        }
        let bytes = std::fs::read(path)?;
        Ok(match String::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into(),
        })
    }

    pub(super) fn find_include(&self, name: &str, angled: bool) -> Result<Option<Found>, (PathBuf, std::io::Error)> {
        let here = self.frames.last().map(|f| &f.home).filter(|_| !angled);
        let paths = &self.options.include_paths;
        if !self.options.no_disk {
            let local = here.and_then(|h| if let Home::Disk(directory) = h { Some(directory) } else { None });
            for directory in local.into_iter().chain(paths) {
                let path = directory.join(name);
                if path.is_file() || self.options.buffers.get(&path).is_some() {
                    let text = self.read(&path).map_err(|e| (path.clone(), e))?;
                    let home = Home::Disk(folder(&path));
                    return Ok(Some(Found { name: path.display().to_string(), text, home }));
                }
            }
        }
        let local = here.and_then(|h| if let Home::Embedded(folder) = h { Some(folder) } else { None });
        let searched = if self.options.no_disk { paths.as_slice() } else { &[] };
        let names = local.into_iter().chain(searched).map(|folder| folder.join(name)).chain([PathBuf::from(name)]);
        let built_in = embedded::lookup(name);
        // A file that has the name of a built-in one, and includes that name, means the built-in one.
        let is_open = |known: &str| {
            let mut open = self.frames.iter().map(|f| f.identity.trim_start_matches('<').trim_end_matches('>'));
            angled && built_in.is_some() && open.any(|name| name == known)
        };
        for path in names {
            let registered =
                self.options.embedded.iter().find(|(known, _)| Path::new(known) == path && !is_open(known));
            if let Some((known, text)) = registered {
                let home = Home::Embedded(folder(&path));
                return Ok(Some(Found { name: format!("<{known}>"), text: text.clone(), home }));
            }
        }
        let found = built_in.map(Arc::from);
        Ok(found.map(|text| Found { name: format!("<{name}>"), text, home: Home::Embedded(PathBuf::new()) }))
    }
}
