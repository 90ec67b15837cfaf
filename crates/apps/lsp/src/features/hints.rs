//! Inlay hints: the bits of fields in their header.

use hopwright_source::FileId;
use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, InlayHintTooltip};

use crate::describe;
use crate::program::Program;
use crate::symbols::Kind;
use crate::world::World;

/// Hints for the fields of headers in a range of bytes.
pub(crate) fn hints(world: &World, program: &Program, file: FileId, range: std::ops::Range<usize>) -> Vec<InlayHint> {
    if !world.settings.inlay_hints.field_offsets {
        return Vec::new();
    }
    let symbols = program.symbols();
    let inside = |at: u32| range.start <= at as usize && at as usize <= range.end;
    let fields = symbols.all.iter().filter(|s| s.kind == Kind::Field && s.at.file == file && inside(s.at.end));
    let hint = |field: &crate::symbols::Symbol<'_>| {
        let place = describe::field_place(program, &symbols, field)?;
        let position = world.range(program, field.at)?.end;
        Some(InlayHint {
            position,
            label: InlayHintLabel::String(place.text()),
            kind: Some(InlayHintKind::TYPE),
            text_edits: None,
            tooltip: Some(InlayHintTooltip::String(format!("byte {} of the header", place.offset / 8))),
            padding_left: Some(true),
            padding_right: None,
            data: None,
        })
    };
    fields.filter_map(hint).collect()
}
