//! Places in source text: files, byte ranges and their translation to lines and columns.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Index of a file in a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileId(pub u32);

/// A half-open byte range `start..end` in one file.
///
/// A token that came out of a macro body carries the span of the macro's use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A span from its parts.
    pub fn new(file: FileId, start: u32, end: u32) -> Span {
        Span { file, start, end }
    }

    /// The empty span at the beginning of the first file; for nodes without source text.
    pub fn none() -> Span {
        Span::new(FileId(0), 0, 0)
    }

    /// The smallest span that holds both; `self` when they are in different files.
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The empty span at this span's end.
    pub fn after(self) -> Span {
        Span { start: self.end, ..self }
    }
}

/// A line and column, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// A `#line` directive: from physical line `from_line` on, the file pretends to be somewhere else.
#[derive(Clone, Debug)]
pub struct LineMark {
    /// First physical line (from 1) that the directive renames.
    pub from_line: u32,
    /// The number that this line is given.
    pub presumed_line: u32,
    /// The file name that it and later lines are given; `None` keeps the name.
    pub presumed_name: Option<Arc<str>>,
}

/// One source file as it was read.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: Arc<str>,
    text: Arc<str>,
    line_starts: Vec<u32>,
    included_from: Option<Span>,
    line_marks: Vec<LineMark>,
}

impl SourceFile {
    /// The name to show: the path as it was found, or `<name>` for text that is in no file.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The `#include` directive that brought the file in.
    pub fn included_from(&self) -> Option<Span> {
        self.included_from
    }

    /// Index from 0 of the line that holds byte `offset`.
    pub fn line_index(&self, offset: u32) -> usize {
        self.line_starts.partition_point(|&start| start <= offset) - 1
    }

    /// Byte range of line `index` (from 0) without its line end; empty beyond the last line.
    pub fn line_range(&self, index: usize) -> std::ops::Range<usize> {
        let len = self.text.len();
        let start = self.line_starts.get(index).map_or(len, |&s| s as usize);
        let mut end = self.line_starts.get(index + 1).map_or(len, |&s| s as usize);
        let bytes = self.text.as_bytes();
        while end > start && matches!(bytes[end - 1], b'\n' | b'\r') {
            end -= 1;
        }
        start..end
    }

    /// Physical line and column of byte `offset` (clamped to the text).
    pub fn line_column(&self, offset: u32) -> LineColumn {
        let mut offset = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let index = self.line_index(offset as u32);
        let start = self.line_starts[index] as usize;
        LineColumn { line: index as u32 + 1, column: self.text[start..offset].chars().count() as u32 + 1 }
    }

    /// The name and line that `#line` directives give to physical line `line` (from 1).
    pub fn presumed(&self, line: u32) -> (&Arc<str>, u32) {
        let mut name = &self.name;
        let mut presumed = line;
        for mark in &self.line_marks {
            if mark.from_line > line {
                break;
            }
            presumed = mark.presumed_line.saturating_add(line - mark.from_line);
            if let Some(n) = &mark.presumed_name {
                name = n;
            }
        }
        (name, presumed)
    }
}

/// A position for display: file name, line, column, after `#line` directives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// File name.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// All source text of a compilation. Files are only ever added.
///
/// A file that is included twice is there twice, each with its own include stack.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// An empty map.
    pub fn new() -> SourceMap {
        SourceMap::default()
    }

    /// Adds a file. Text beyond 4 GiB is cut off at a character boundary.
    pub fn add(&mut self, name: impl Into<Arc<str>>, text: impl Into<Arc<str>>, included_from: Option<Span>) -> FileId {
        let mut text: Arc<str> = text.into();
        if text.len() >= u32::MAX as usize {
            let mut end = u32::MAX as usize - 1;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text = Arc::from(&text[..end]);
        }
        let line_starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i as u32 + 1))
            .collect();
        let id = FileId(self.files.len() as u32);
        self.files.push(SourceFile { name: name.into(), text, line_starts, included_from, line_marks: Vec::new() });
        id
    }

    /// Records a `#line` directive of `file`. Marks of a file are added in the order of its lines.
    ///
    /// # Panics
    /// If `file` is not in this map.
    pub fn add_line_mark(&mut self, file: FileId, mark: LineMark) {
        self.files[file.0 as usize].line_marks.push(mark);
    }

    /// The file with this id; `None` for an id of another map.
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// All files in the order they were added.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i as u32), f))
    }

    /// The text a span covers; empty when the span is not in this map.
    pub fn snippet(&self, span: Span) -> &str {
        self.get(span.file).and_then(|f| f.text.get(span.start as usize..span.end as usize)).unwrap_or("")
    }

    /// Where a span begins, after `#line` directives.
    pub fn location(&self, span: Span) -> Location {
        let Some(file) = self.get(span.file) else {
            return Location { file: Arc::from("<unknown>"), line: 1, column: 1 };
        };
        let at = file.line_column(span.start);
        let (name, line) = file.presumed(at.line);
        Location { file: name.clone(), line, column: at.column }
    }

    /// File without folders, line, and the line's text without blanks around it: `l2.p4:31  mac.apply();`. `None` when the
    /// span is not in this map.
    pub fn quote(&self, span: Span) -> Option<String> {
        let file = self.get(span.file)?;
        let location = self.location(span);
        let name = location.file.rsplit('/').next().unwrap_or_default();
        let line = file.line_range(file.line_index(span.start));
        let text = file.text().get(line).unwrap_or_default().trim();
        Some(format!("{name}:{}  {text}", location.line))
    }

    /// The `#include` directives that led to the file of `span`, innermost first.
    pub fn include_stack(&self, span: Span) -> Vec<Span> {
        let mut stack = Vec::new();
        let mut at = self.get(span.file).and_then(SourceFile::included_from);
        while let Some(from) = at {
            stack.push(from);
            at = self.get(from.file).and_then(SourceFile::included_from);
        }
        stack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        let mut map = SourceMap::new();
        let file = map.add("a.p4", "ab\nä x\n", None);
        let at = |start| map.location(Span::new(file, start, start)).to_string();
        assert_eq!(at(0), "a.p4:1:1");
        assert_eq!(at(2), "a.p4:1:3");
        assert_eq!(at(3), "a.p4:2:1");
        assert_eq!(at(6), "a.p4:2:3");
        assert_eq!(at(8), "a.p4:3:1");
        assert_eq!(at(999), "a.p4:3:1");
    }

    #[test]
    fn line_marks_rename_what_follows() {
        let mut map = SourceMap::new();
        let file = map.add("a.p4", "1\n2\n3\n", None);
        map.add_line_mark(file, LineMark { from_line: 2, presumed_line: 100, presumed_name: Some("b.p4".into()) });
        let at = |start| map.location(Span::new(file, start, start)).to_string();
        assert_eq!(at(0), "a.p4:1:1");
        assert_eq!(at(4), "b.p4:101:1");
    }
}
