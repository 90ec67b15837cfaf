//! Positions of the protocol, which count lines and code units, and offsets in text, which count bytes.

use std::sync::Arc;

use lsp_types::{Position, PositionEncodingKind, Range, TextDocumentContentChangeEvent};

/// What a position's `character` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// Code units of UTF-16: what every client knows.
    Utf16,
    /// Characters.
    Utf32,
}

impl Encoding {
    /// The first that the client offers and that is known; UTF-16 if it offers none.
    pub fn choose(offered: Option<&[PositionEncodingKind]>) -> Encoding {
        let known = |kind: &PositionEncodingKind| match kind.as_str() {
            "utf-8" => Some(Encoding::Utf8),
            "utf-16" => Some(Encoding::Utf16),
            "utf-32" => Some(Encoding::Utf32),
            _ => None,
        };
        offered.unwrap_or_default().iter().find_map(known).unwrap_or(Encoding::Utf16)
    }

    /// Its name in the protocol.
    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
            Encoding::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn units(self, c: char) -> u32 {
        match self {
            Encoding::Utf8 => c.len_utf8() as u32,
            Encoding::Utf16 => c.len_utf16() as u32,
            Encoding::Utf32 => 1,
        }
    }
}

/// A position that is not in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfRange(String);

impl std::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text and where its lines begin. Lines end with `\n`, `\r\n` or `\r`.
#[derive(Clone, Debug)]
pub struct Text {
    text: Arc<str>,
    starts: Vec<u32>,
}

impl Text {
    /// Of a text of at most 4 GiB.
    pub fn new(text: impl Into<Arc<str>>) -> Text {
        let text: Arc<str> = text.into();
        let bytes = text.as_bytes();
        let ends = |i: &usize| match bytes[*i] {
            b'\n' => true,
            b'\r' => bytes.get(i + 1) != Some(&b'\n'),
            _ => false,
        };
        let starts = std::iter::once(0).chain((0..bytes.len()).filter(ends).map(|i| i as u32 + 1)).collect();
        Text { text, starts }
    }

    /// The text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Number of lines; an empty text has one.
    pub fn lines(&self) -> usize {
        self.starts.len()
    }

    /// Byte range of a line without its end.
    pub fn line(&self, line: usize) -> std::ops::Range<usize> {
        let Some(&start) = self.starts.get(line) else { return self.text.len()..self.text.len() };
        let end = self.starts.get(line + 1).map_or(self.text.len(), |&s| s as usize);
        let text = &self.text[start as usize..end];
        start as usize..start as usize + text.trim_end_matches(['\n', '\r']).len()
    }

    /// The offset of a position. A column behind the end of its line is that end, as the protocol says; a line behind the last is an
    /// error. A column within a character is that character's beginning.
    pub fn offset(&self, position: Position, encoding: Encoding) -> Result<usize, OutOfRange> {
        let line = position.line as usize;
        if line >= self.starts.len() {
            return Err(OutOfRange(format!("line {line} of a text of {} lines, counted from 0", self.starts.len())));
        }
        let range = self.line(line);
        let mut left = position.character;
        for (at, c) in self.text[range.clone()].char_indices() {
            let units = encoding.units(c);
            if left < units {
                return Ok(range.start + at);
            }
            left -= units;
        }
        Ok(range.end)
    }

    /// The position of an offset, which is clamped to the text and to the beginning of a character.
    pub fn position(&self, offset: usize, encoding: Encoding) -> Position {
        let offset = self.text.floor_char_boundary(offset.min(self.text.len()));
        let line = self.starts.partition_point(|&s| s as usize <= offset) - 1;
        let start = self.starts[line] as usize;
        let character = self.text[start..offset].chars().map(|c| encoding.units(c)).sum();
        Position { line: line as u32, character }
    }

    /// The range of the protocol for a range of bytes.
    pub fn range(&self, range: std::ops::Range<usize>, encoding: Encoding) -> Range {
        Range { start: self.position(range.start, encoding), end: self.position(range.end, encoding) }
    }

    /// The text after an edit of a client: a replacement of a range, or of everything.
    pub fn edited(&self, change: &TextDocumentContentChangeEvent, encoding: Encoding) -> Result<Text, OutOfRange> {
        let Some(range) = change.range else { return Ok(Text::new(change.text.as_str())) };
        let start = self.offset(range.start, encoding)?;
        let end = self.offset(range.end, encoding)?;
        if end < start {
            return Err(OutOfRange("the range ends before it begins".into()));
        }
        let mut text = String::with_capacity(self.text.len() - (end - start) + change.text.len());
        text.push_str(&self.text[..start]);
        text.push_str(&change.text);
        text.push_str(&self.text[end..]);
        Ok(Text::new(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn columns_count_units_of_the_encoding() {
        // One byte, two bytes, four bytes (two units of UTF-16).
        let text = Text::new("aä𝄞b\r\nc\rd\n");
        for (encoding, columns) in
            [(Encoding::Utf8, [0, 1, 3, 7, 8]), (Encoding::Utf16, [0, 1, 2, 4, 5]), (Encoding::Utf32, [0, 1, 2, 3, 4])]
        {
            for (column, offset) in columns.into_iter().zip([0, 1, 3, 7, 8]) {
                assert_eq!(text.offset(at(0, column), encoding), Ok(offset), "{encoding:?} {column}");
                assert_eq!(text.position(offset, encoding), at(0, column), "{encoding:?} {offset}");
            }
            assert_eq!(text.offset(at(1, 1), encoding), Ok(11));
            assert_eq!(text.offset(at(2, 0), encoding), Ok(12));
            assert_eq!(text.offset(at(3, 0), encoding), Ok(14));
        }
    }

    #[test]
    fn a_column_behind_the_line_is_its_end_and_a_line_behind_the_text_is_refused() {
        let text = Text::new("ab\ncd");
        assert_eq!(text.offset(at(0, 99), Encoding::Utf16), Ok(2));
        assert_eq!(text.offset(at(1, u32::MAX), Encoding::Utf16), Ok(5));
        assert!(text.offset(at(2, 0), Encoding::Utf16).is_err());
        assert!(text.offset(at(u32::MAX, 0), Encoding::Utf16).is_err());
        // Within a pair of surrogates.
        assert_eq!(Text::new("𝄞").offset(at(0, 1), Encoding::Utf16), Ok(0));
    }

    #[test]
    fn edits_replace_ranges() {
        let change =
            |range, text: &str| TextDocumentContentChangeEvent { range, range_length: None, text: text.into() };
        let text = Text::new("header h {\n}\n");
        let range = Some(Range { start: at(0, 10), end: at(1, 0) });
        let text = text.edited(&change(range, " bit<8> ä𝄞; "), Encoding::Utf16).unwrap();
        assert_eq!(&**text.text(), "header h { bit<8> ä𝄞; }\n");
        let range = Some(Range { start: at(0, 19), end: at(0, 21) });
        let text = text.edited(&change(range, "x"), Encoding::Utf16).unwrap();
        assert_eq!(&**text.text(), "header h { bit<8> äx; }\n");
        let backwards = Some(Range { start: at(0, 5), end: at(0, 2) });
        assert!(text.edited(&change(backwards, ""), Encoding::Utf16).is_err());
        let outside = Some(Range { start: at(0, 5), end: at(7, 2) });
        assert!(text.edited(&change(outside, ""), Encoding::Utf16).is_err());
        assert_eq!(&**text.edited(&change(None, "new"), Encoding::Utf16).unwrap().text(), "new");
    }
}
