//! Conversion of positions and edits, for fuzzing.

use lsp_types::{Position, Range, TextDocumentContentChangeEvent};

use crate::position::{Encoding, Text};

/// Any bytes are a text with positions and an edit: positions of offsets come back as these offsets, a position is refused exactly if
/// its line is not there, and an edit gives the text that replacing the bytes gives.
pub fn edits(data: &[u8]) {
    let Some((numbers, rest)) = data.split_at_checked(12) else { return };
    let encoding = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32][usize::from(numbers[0] % 3)];
    let rest = String::from_utf8_lossy(rest);
    let mut cut = usize::from(numbers[1]).min(rest.len());
    while !rest.is_char_boundary(cut) {
        cut -= 1;
    }
    let (new, text) = rest.split_at(cut);
    let text = Text::new(text);
    for offset in 0..=text.text().len() {
        let position = text.position(offset, encoding);
        let back = text.offset(position, encoding).unwrap_or_else(|e| panic!("{offset}: {e}"));
        let boundary = text.text().floor_char_boundary(offset);
        // Within an end of a line, an offset is that of the end of the line's text.
        let line = text.line(position.line as usize);
        assert_eq!(back, boundary.min(line.end), "{offset}");
    }
    let at = |i: usize| Position {
        line: u32::from(numbers[i]) % (text.lines() as u32 + 2),
        character: u32::from_le_bytes([numbers[i + 1], numbers[i + 2], 0, 0]),
    };
    let (start, end) = (at(2), at(5));
    for position in [start, end] {
        assert_eq!(text.offset(position, encoding).is_err(), position.line as usize >= text.lines());
    }
    let change =
        TextDocumentContentChangeEvent { range: Some(Range { start, end }), range_length: None, text: new.into() };
    match (text.offset(start, encoding), text.offset(end, encoding), text.edited(&change, encoding)) {
        (Ok(from), Ok(to), Ok(edited)) => {
            let mut expected = text.text().to_string();
            expected.replace_range(from..to, new);
            assert_eq!(**edited.text(), *expected);
        }
        (Ok(from), Ok(to), Err(_)) => assert!(to < from),
        (_, _, edited) => assert!(edited.is_err()),
    }
}
