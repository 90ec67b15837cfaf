//! A checked program, and how its places correspond to files.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hopwright_driver::{Checked, Options};
use hopwright_lint as lint;
use hopwright_sema::index::{Index, Target, Typed};
use hopwright_source::{FileId, SourceMap, Span};
use hopwright_syntax::{Diagnostics, canonical};

use crate::position::Text;
use crate::symbols::{Kind, Symbol, Symbols};

/// A program as it was when it was checked last.
pub(crate) struct Program {
    /// The file it begins in.
    pub root: PathBuf,
    pub checked: Checked,
    /// Files by number; `None` for text that is in no file.
    files: Vec<Option<Arc<PathBuf>>>,
    texts: Vec<std::cell::OnceCell<Text>>,
    /// Whether an include file was not found.
    pub incomplete: bool,
    /// How long checking took.
    pub took: std::time::Duration,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileRange {
    pub path: Arc<PathBuf>,
    pub start: u32,
    pub end: u32,
}

impl Program {
    /// Checks the program in a file, and whether targets have what it uses. `built_in` is the folder with copies of built-in include files.
    pub(crate) fn check(root: &Path, options: &Options, targets: &[lint::Target], built_in: &Path) -> Program {
        let started = std::time::Instant::now();
        let check = || {
            let mut checked = hopwright_driver::check_file(root, options);
            if let Some(typed) = checked.typed.as_ref().filter(|_| !targets.is_empty()) {
                checked.diagnostics.extend(lint::portable(&checked.program, typed, &checked.sources, targets));
            }
            checked
        };
        let checked = catch_unwind(AssertUnwindSafe(check));
        let checked = checked.unwrap_or_else(|_| {
            tracing::error!(file = %root.display(), "the compiler failed: names and types are missing");
            parse_only(root, options)
        });
        let path = |name: &str| match name.strip_prefix('<').and_then(|n| n.strip_suffix('>')) {
            Some(name) => {
                let name = name.rsplit('/').next().unwrap_or(name);
                Some(built_in.join(name)).filter(|p| p.extension().is_some_and(|e| e == "p4"))
            }
            None => Some(canonical(Path::new(name))),
        };
        let files: Vec<_> = checked.sources.files().map(|(_, f)| path(f.name()).map(Arc::new)).collect();
        let texts = files.iter().map(|_| std::cell::OnceCell::new()).collect();
        let incomplete = checked.diagnostics.iter().any(|d| d.code == "E0001");
        Program { root: root.to_path_buf(), checked, files, texts, incomplete, took: started.elapsed() }
    }

    pub(crate) fn sources(&self) -> &SourceMap {
        &self.checked.sources
    }

    pub(crate) fn index(&self) -> &Index {
        &self.checked.index
    }

    pub(crate) fn diagnostics(&self) -> &Diagnostics {
        &self.checked.diagnostics
    }

    /// The declarations.
    pub(crate) fn symbols(&self) -> Symbols<'_> {
        Symbols::of(&self.checked.program)
    }

    /// The path of a file.
    pub(crate) fn path(&self, file: FileId) -> Option<&Arc<PathBuf>> {
        self.files.get(file.0 as usize)?.as_ref()
    }

    /// All files that have a path.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Arc<PathBuf>> {
        self.files.iter().flatten()
    }

    /// The file with a path: where it is included first.
    pub(crate) fn file(&self, path: &Path) -> Option<FileId> {
        self.files.iter().position(|f| f.as_ref().is_some_and(|f| ***f == *path)).map(|i| FileId(i as u32))
    }

    /// The text of a file with its lines.
    pub(crate) fn text(&self, file: FileId) -> Option<&Text> {
        let source = self.sources().get(file)?;
        Some(self.texts.get(file.0 as usize)?.get_or_init(|| Text::new(source.text().clone())))
    }

    /// The place of a span.
    pub(crate) fn place(&self, span: Span) -> Option<FileRange> {
        Some(FileRange { path: self.path(span.file)?.clone(), start: span.start, end: span.end })
    }

    /// The text of a span.
    pub(crate) fn snippet(&self, span: Span) -> &str {
        self.sources().snippet(span)
    }

    /// The declaration a name refers to or declares, if the text there is that name.
    pub(crate) fn symbol_at(&self, symbols: &Symbols<'_>, name: Span) -> Option<usize> {
        if let Some(target) = self.index().uses.get(&name) {
            return self.resolve(symbols, target);
        }
        symbols.at(name)
    }

    /// The declaration that a target stands for.
    pub(crate) fn resolve(&self, symbols: &Symbols<'_>, target: &Target) -> Option<usize> {
        match target {
            Target::Declaration(at) => symbols.at(*at),
            Target::Member { of, name } => symbols.member(symbols.at(*of)?, name),
        }
    }

    /// The type of a declaration.
    pub(crate) fn type_of(&self, symbol: &Symbol<'_>) -> Option<&Typed> {
        self.index().types.get(&symbol.at)
    }

    /// Whether a whole program: it has `main`.
    pub(crate) fn has_main(&self) -> bool {
        let main = |d: &hopwright_syntax::ast::Decl| d.kind.name().is_some_and(|n| n.as_str() == "main");
        self.checked.program.decls.iter().any(main)
    }

    /// The declarations of parsers that a state may go on to: itself is not among them unless it loops.
    pub(crate) fn state(symbols: &Symbols<'_>, parser: usize, name: &str) -> Option<usize> {
        symbols.children(parser).find(|(_, s)| s.kind == Kind::State && &**s.name == name).map(|(i, _)| i)
    }
}

fn parse_only(root: &Path, options: &Options) -> Checked {
    let mut sources = SourceMap::new();
    let parsed = catch_unwind(AssertUnwindSafe(|| hopwright_syntax::parse(&mut sources, root, options)));
    let (program, diagnostics) = parsed.unwrap_or_default();
    Checked { program, typed: None, index: Index::default(), diagnostics, sources: Arc::new(sources) }
}
