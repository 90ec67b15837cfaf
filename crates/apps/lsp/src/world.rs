//! What the server knows: open documents, the files of the workspace, and checked programs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use hopwright_source::{FileId, Span};
use hopwright_syntax::{Buffers, canonical};
use lsp_types::{Location, Position, Range, TextDocumentContentChangeEvent, Uri};

use crate::built_in;
use crate::includes::{self, Includes};
use crate::position::{Encoding, OutOfRange, Text};
use crate::program::{FileRange, Program};
use crate::settings::Settings;
use crate::uri;

/// Most programs that are kept.
const MAX_PROGRAMS: usize = 64;

/// An open document.
pub(crate) struct Document {
    /// As the client wrote it.
    pub uri: Uri,
    pub version: i32,
    pub text: Text,
}

/// A place in a checked program that a request names.
pub(crate) struct At {
    pub program: Rc<Program>,
    pub path: PathBuf,
    pub file: FileId,
    pub offset: usize,
}

impl At {
    /// The empty span there.
    pub(crate) fn span(&self) -> Span {
        Span::new(self.file, self.offset as u32, self.offset as u32)
    }

    /// The name there.
    pub(crate) fn word(&self) -> Option<Span> {
        let text = self.program.text(self.file)?.text();
        let word = crate::lexer::word_at(text, self.offset)?;
        Some(Span::new(self.file, word.start as u32, word.end as u32))
    }
}

/// Why a request is not answered.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The request makes no sense.
    Invalid(String),
    /// It does, but cannot be done.
    Failed(String),
}

impl From<OutOfRange> for Refused {
    fn from(error: OutOfRange) -> Refused {
        Refused::Invalid(error.to_string())
    }
}

/// The state of the server.
pub(crate) struct World {
    pub encoding: Encoding,
    pub settings: Settings,
    pub folders: Vec<PathBuf>,
    pub documents: BTreeMap<PathBuf, Document>,
    buffers: Buffers,
    includes: Includes,
    scanned: bool,
    built_in: PathBuf,
    programs: HashMap<PathBuf, Rc<Program>>,
}

impl World {
    pub(crate) fn new(encoding: Encoding, settings: Settings, folders: Vec<PathBuf>) -> World {
        World {
            encoding,
            settings,
            folders,
            documents: BTreeMap::new(),
            buffers: Buffers::default(),
            includes: Includes::default(),
            scanned: false,
            built_in: built_in::folder(),
            programs: HashMap::new(),
        }
    }

    fn first_folder(&self) -> Option<&Path> {
        self.folders.first().map(PathBuf::as_path)
    }

    fn include_paths(&self) -> Vec<PathBuf> {
        self.settings.include_paths(self.first_folder())
    }

    // --- documents ---------------------------------------------------------------------------

    /// The path that stands for a document: of its file, or a made-up one in the working directory.
    pub(crate) fn path(uri: &Uri) -> PathBuf {
        canonical(&uri::to_path(uri).unwrap_or_else(|| PathBuf::from(uri.as_str().replace('/', "_"))))
    }

    pub(crate) fn open(&mut self, uri: Uri, version: i32, text: String) {
        let path = World::path(&uri);
        let text = Text::new(text);
        self.buffers.insert(&path, text.text().clone());
        self.documents.insert(path.clone(), Document { uri, version, text });
        self.changed(&path);
    }

    /// Applies a client's edits; all or none.
    pub(crate) fn edit(
        &mut self,
        uri: &Uri,
        version: i32,
        changes: &[TextDocumentContentChangeEvent],
    ) -> Result<(), Refused> {
        let path = World::path(uri);
        let encoding = self.encoding;
        let document = self.documents.get_mut(&path);
        let document = document.ok_or_else(|| Refused::Invalid(format!("`{}` is not open", uri.as_str())))?;
        let mut text = document.text.clone();
        for change in changes {
            text = text.edited(change, encoding)?;
        }
        document.version = version;
        document.text = text;
        self.buffers.insert(&path, document.text.text().clone());
        self.changed(&path);
        Ok(())
    }

    pub(crate) fn close(&mut self, uri: &Uri) {
        let path = World::path(uri);
        if self.documents.remove(&path).is_some() {
            self.buffers.remove(&path);
            self.changed(&path);
        }
    }

    /// A file is no longer what it was: programs with it are checked again when they are asked for.
    pub(crate) fn changed(&mut self, path: &Path) {
        let path = canonical(path);
        if self.scanned {
            let include_paths = self.include_paths();
            self.includes.update(&path, &self.buffers, &include_paths);
        }
        self.programs.retain(|root, p| *root != path && !p.incomplete && !p.paths().any(|f| ***f == *path));
    }

    /// Everything may be different.
    pub(crate) fn reset(&mut self) {
        self.scanned = false;
        self.programs.clear();
    }

    // --- programs ----------------------------------------------------------------------------

    fn includes(&mut self) -> &Includes {
        if !self.scanned {
            let include_paths = self.include_paths();
            self.includes.scan(&self.folders, &self.buffers, &include_paths);
            self.scanned = true;
        }
        &self.includes
    }

    /// The program that begins in a file, checked.
    pub(crate) fn program(&mut self, root: &Path) -> Rc<Program> {
        if let Some(known) = self.programs.get(root) {
            return known.clone();
        }
        if self.programs.len() >= MAX_PROGRAMS {
            self.programs.clear();
        }
        let options = self.settings.options(self.first_folder(), &self.buffers);
        let program = Rc::new(Program::check(root, &options, &self.settings.targets(), &self.built_in));
        tracing::debug!(file = %root.display(), took = ?program.took, "checked");
        self.programs.insert(root.to_path_buf(), program.clone());
        program
    }

    /// The beginnings of the programs that a file belongs to; those that are open first.
    pub(crate) fn roots(&mut self, path: &Path) -> Vec<PathBuf> {
        let mut roots = self.includes().programs(path);
        roots.sort_by_key(|r| !self.documents.contains_key(r));
        if roots == [path] && path.starts_with(&self.built_in) {
            // A built-in include file belongs to the programs that have been checked.
            let with = self.programs.iter().filter(|(_, p)| p.file(path).is_some() && p.has_main());
            let mut with: Vec<PathBuf> = with.map(|(root, _)| root.clone()).collect();
            with.sort();
            if !with.is_empty() {
                return with;
            }
        }
        roots
    }

    /// A program with this file in it: what requests about the file are answered from.
    pub(crate) fn program_with(&mut self, path: &Path) -> (Rc<Program>, FileId) {
        for root in self.roots(path).into_iter().take(MAX_PROGRAMS / 2) {
            let program = self.program(&root);
            if let Some(file) = program.file(path) {
                return (program, file);
            }
        }
        // The directive that includes it is not active.
        let program = self.program(path);
        let file = program.file(path).unwrap_or(FileId(0));
        (program, file)
    }

    /// All programs with this file in it.
    pub(crate) fn programs_with(&mut self, path: &Path) -> Vec<Rc<Program>> {
        let roots = self.roots(path).into_iter().take(MAX_PROGRAMS / 2);
        let mut programs: Vec<Rc<Program>> = roots.collect::<Vec<_>>().iter().map(|r| self.program(r)).collect();
        programs.retain(|p| p.file(path).is_some());
        if programs.is_empty() {
            programs.push(self.program_with(path).0);
        }
        programs
    }

    /// Whether a file is a part of a program that nobody is known to include.
    pub(crate) fn is_fragment(&mut self, path: &Path) -> bool {
        path.starts_with(&self.built_in) || self.includes().is_fragment(path)
    }

    /// Whether a file is one that people may edit: open or in the workspace.
    pub(crate) fn is_editable(&self, path: &Path) -> bool {
        let inside = self.folders.iter().any(|f| path.starts_with(canonical(f)));
        !path.starts_with(&self.built_in) && (inside || self.documents.contains_key(path))
    }

    /// The roots of the programs that open documents belong to.
    pub(crate) fn open_roots(&mut self) -> BTreeSet<PathBuf> {
        let open: Vec<PathBuf> = self.documents.keys().cloned().collect();
        let mut roots = BTreeSet::new();
        for path in open {
            roots.insert(self.program_with(&path).0.root.clone());
        }
        roots
    }

    // --- places ------------------------------------------------------------------------------

    /// The place that a request names.
    pub(crate) fn at(&mut self, uri: &Uri, position: Position) -> Result<At, Refused> {
        let path = self.known(uri)?;
        let (program, file) = self.program_with(&path);
        let encoding = self.encoding;
        let text = program.text(file).ok_or_else(|| Refused::Failed("the file could not be read".into()))?;
        let offset = text.offset(position, encoding)?;
        Ok(At { program, path, file, offset })
    }

    /// The path of a document that is open or a file.
    pub(crate) fn known(&self, uri: &Uri) -> Result<PathBuf, Refused> {
        let path = World::path(uri);
        if self.documents.contains_key(&path) || path.is_file() {
            return Ok(path);
        }
        Err(Refused::Invalid(format!("`{}` is not open, and not a file", uri.as_str())))
    }

    /// The text of a document that is open.
    pub(crate) fn text(&self, uri: &Uri) -> Result<Text, Refused> {
        let document = self.documents.get(&World::path(uri));
        let document = document.ok_or_else(|| Refused::Invalid(format!("`{}` is not open", uri.as_str())))?;
        Ok(document.text.clone())
    }

    /// The URI of a file, as the client calls it if it is open.
    pub(crate) fn uri(&self, path: &Path) -> Option<Uri> {
        match self.documents.get(path) {
            Some(document) => Some(document.uri.clone()),
            None => uri::of_path(path),
        }
    }

    /// The range of a span.
    pub(crate) fn range(&self, program: &Program, span: Span) -> Option<Range> {
        Some(program.text(span.file)?.range(span.start as usize..span.end as usize, self.encoding))
    }

    /// The location of a span.
    pub(crate) fn location(&self, program: &Program, span: Span) -> Option<Location> {
        let uri = self.uri(program.path(span.file)?)?;
        Some(Location { uri, range: self.range(program, span)? })
    }

    /// The location of a place that a program has.
    pub(crate) fn location_of(&self, program: &Program, place: &FileRange) -> Option<Location> {
        let file = program.file(&place.path)?;
        self.location(program, Span::new(file, place.start, place.end))
    }

    /// The file that an `#include` of a file stands for, built-in ones among them.
    pub(crate) fn included(&self, from: &Path, name: &str, angled: bool) -> Option<PathBuf> {
        let found = includes::find(from, name, angled, &self.buffers, &self.include_paths());
        found.or_else(|| Some(self.built_in.join(name.rsplit('/').next()?)).filter(|p| p.is_file()))
    }

    /// The folders that an `#include` of a file searches.
    pub(crate) fn include_folders(&self, from: &Path, angled: bool) -> Vec<PathBuf> {
        let here = from.parent().map(Path::to_path_buf).filter(|_| !angled);
        here.into_iter().chain(self.include_paths()).collect()
    }

    /// Checks a program with other texts of some files, and keeps nothing of it.
    pub(crate) fn check_with(&self, root: &Path, texts: &[(PathBuf, String)]) -> Program {
        let mut buffers = self.buffers.clone();
        texts.iter().for_each(|(path, text)| buffers.insert(path, text.as_str().into()));
        Program::check(root, &self.settings.options(self.first_folder(), &buffers), &[], &self.built_in)
    }
}
