//! The layout: where each slot is kept at run time. It is decided once for each pipeline.
//!
//! Metadata and locals are SSA variables. Header fields are in the header's bytes at its *base*. This is in the packet
//! once the header is extracted; otherwise it is a block of zeros that all headers share or, for headers that are
//! written, an *image* of their own in the stack frame.

use hopwright_ir::analysis::in_place_suffix::{self, InPlaceSuffix};
use hopwright_ir::analysis::parser_graph::has_cycles;
use hopwright_ir::analysis::usage::Usage;
use hopwright_ir::walk;
use hopwright_ir::{ExternArg, Header, HeaderId, Pipeline, SlotId, SlotKind, Stmt, StmtKind, Type};

use crate::Unsupported;

/// Where a slot is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A variable per limb.
    Scalar,
    /// Field number `.1` of header `.0`.
    Field(HeaderId, u32),
    /// The varbit field of a header, relative to the header's base.
    HeaderVarbit(HeaderId),
    /// The validity bit of a header.
    Valid(HeaderId),
    /// A varbit that is not a header field: address and length.
    Varbit,
}

/// Properties of a header.
#[derive(Clone, Debug)]
pub(crate) struct HeaderLayout {
    /// Size in bytes without the varbit field.
    pub bytes: u32,
    /// Whether its bytes can be in the packet.
    pub from_packet: bool,
    /// Whether a field is written other than by extraction.
    pub written: bool,
    /// Whether its varbit field is written other than by extraction.
    pub varbit_written: bool,
    /// Whether it is copied from or to another header.
    pub copied: bool,
    /// Whether it is valid, and its bytes are in the packet, exactly if it was extracted.
    pub extracted: bool,
    /// Offset of its image among the images.
    pub image: Option<i32>,
    /// Offset in bytes of the varbit field.
    pub varbit_at: Option<u32>,
    /// Maximum length of the varbit field in bytes.
    pub varbit_bytes: u32,
}

impl HeaderLayout {
    /// Whether its bytes can be elsewhere than in the shared zeros.
    pub(crate) fn has_base(&self) -> bool {
        self.from_packet || self.written
    }
}

/// The layout of a pipeline.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub places: Vec<Place>,
    pub headers: Vec<HeaderLayout>,
    /// For varbits that are not header fields, the offset of their buffer among the images.
    pub varbits: Vec<Option<i32>>,
    /// Size of all images in bytes.
    pub images: i32,
    /// Size of the shared zeros in bytes.
    pub zeros: usize,
    /// The headers that are certainly in place at the end.
    pub suffix: InPlaceSuffix,
    /// Whether the parser has cycles.
    pub parser_cycles: bool,
    /// Whether steps are counted, because the program has loops or a parser with cycles.
    pub counts_steps: bool,
    /// Whether the program ever sets `priority`.
    pub sets_priority: bool,
}

impl Layout {
    pub(crate) fn of(pipeline: &Pipeline) -> Result<Layout, Unsupported> {
        Layout::with_suffix(pipeline, InPlaceSuffix::of(pipeline))
    }

    /// The layout for code in which headers can be anywhere.
    pub(crate) fn without_suffix(pipeline: &Pipeline) -> Result<Layout, Unsupported> {
        Layout::with_suffix(pipeline, InPlaceSuffix::default())
    }

    fn with_suffix(pipeline: &Pipeline, suffix: InPlaceSuffix) -> Result<Layout, Unsupported> {
        let mut places = Vec::with_capacity(pipeline.slots.len());
        for slot in &pipeline.slots {
            places.push(match (slot.kind, slot.ty) {
                (SlotKind::Field(h, _), Type::Varbit(_)) => Place::HeaderVarbit(h),
                (SlotKind::Field(h, f), _) => Place::Field(h, f),
                (SlotKind::Valid(h), _) => Place::Valid(h),
                (_, Type::Varbit(_)) => Place::Varbit,
                _ => Place::Scalar,
            });
        }
        let mut headers = Vec::with_capacity(pipeline.headers.len());
        for header in &pipeline.headers {
            headers.push(header_layout(header)?);
        }
        let mut layout = Layout {
            places,
            headers,
            varbits: Vec::new(),
            images: 0,
            zeros: 64,
            suffix,
            parser_cycles: false,
            counts_steps: false,
            sets_priority: false,
        };
        layout.find_writes(pipeline)?;
        for (i, changed) in in_place_suffix::reshaped(pipeline).into_iter().enumerate() {
            let header = &mut layout.headers[i];
            header.extracted = !changed && !header.written && pipeline.headers[i].stack.is_none();
        }
        // Headers of the suffix that are never accessed are skipped, because their addresses are not needed.
        let usage = Usage::of(pipeline);
        layout.sets_priority = usage.slots[pipeline.standard.priority.index()].written;
        for header in &layout.suffix.headers {
            let u = usage.header(*header);
            if !u.field_read && !u.field_written {
                layout.headers[header.index()].from_packet = false;
            }
        }
        for header in layout.headers.iter_mut().filter(|h| h.written) {
            let most = header.bytes + if header.copied || header.varbit_written { header.varbit_bytes } else { 0 };
            header.image = Some(layout.images);
            layout.images += most.next_multiple_of(16) as i32;
        }
        for (slot, place) in pipeline.slots.iter().zip(&layout.places) {
            let buffer = (*place == Place::Varbit).then_some(layout.images);
            layout.varbits.push(buffer);
            if buffer.is_some() {
                layout.images += slot.ty.width().div_ceil(8).next_multiple_of(16) as i32;
            }
        }
        let most = layout.headers.iter().map(|h| h.bytes as usize).max().unwrap_or(0);
        layout.zeros = (most + 64).next_multiple_of(64);
        layout.parser_cycles = has_cycles(pipeline);
        layout.counts_steps = has_loop(pipeline) || layout.parser_cycles;
        Ok(layout)
    }

    pub(crate) fn header(&self, id: HeaderId) -> &HeaderLayout {
        &self.headers[id.index()]
    }

    fn written(&mut self, slot: SlotId) {
        match self.places[slot.index()] {
            Place::Field(h, _) => self.headers[h.index()].written = true,
            Place::HeaderVarbit(h) => {
                let header = &mut self.headers[h.index()];
                (header.written, header.varbit_written) = (true, true);
            }
            _ => {}
        }
    }

    fn find_writes(&mut self, pipeline: &Pipeline) -> Result<(), Unsupported> {
        let mut same: Vec<(HeaderId, HeaderId)> = Vec::new();
        for block in walk::all_blocks(pipeline) {
            let mut result = Ok(());
            walk::stmts(block, &mut |s| {
                if let Err(e) = self.statement(pipeline, s, &mut same) {
                    result = Err(e);
                }
            });
            result?;
        }
        // Headers that are copied to each other get the same properties, because a change of one must not affect the
        // other.
        loop {
            let mut changed = false;
            for &(a, b) in &same {
                let (a, b) = (a.index(), b.index());
                let from_packet = self.headers[a].from_packet || self.headers[b].from_packet;
                let written = self.headers[a].written || self.headers[b].written;
                let varbit_written = self.headers[a].varbit_written || self.headers[b].varbit_written;
                for h in [a, b] {
                    let h = &mut self.headers[h];
                    let now = (from_packet, written, varbit_written, true);
                    changed |= (h.from_packet, h.written, h.varbit_written, h.copied) != now;
                    (h.from_packet, h.written, h.varbit_written, h.copied) = now;
                }
            }
            if !changed {
                return Ok(());
            }
        }
    }

    fn statement(
        &mut self,
        pipeline: &Pipeline,
        stmt: &Stmt,
        same: &mut Vec<(HeaderId, HeaderId)>,
    ) -> Result<(), Unsupported> {
        match &stmt.kind {
            StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => self.written(*slot),
            StmtKind::Apply { hit, action_run, .. } => {
                hit.iter().chain(action_run).for_each(|&s| self.written(s));
            }
            StmtKind::Extern(call) => {
                for arg in &call.args {
                    if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                        self.written(*slot);
                    }
                }
            }
            StmtKind::Lookahead { parts, .. } => {
                for &(slot, _) in parts {
                    if matches!(pipeline[slot].ty, Type::Varbit(_)) {
                        return Err(Unsupported::new(stmt.span, "looking ahead into a varbit"));
                    }
                    self.written(slot);
                }
            }
            StmtKind::CopyHeader { dst, src } => same.push((*dst, *src)),
            StmtKind::PushFront(stack, _) | StmtKind::PopFront(stack, _) => {
                let elements = &pipeline[*stack].elements;
                same.extend(elements.windows(2).map(|w| (w[0], w[1])));
            }
            StmtKind::Extract { header, .. } => self.headers[header.index()].from_packet = true,
            StmtKind::ExtractNext { stack, .. } => {
                for header in &pipeline[*stack].elements {
                    self.headers[header.index()].from_packet = true;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn header_layout(header: &Header) -> Result<HeaderLayout, Unsupported> {
    if !header.fixed_bits.is_multiple_of(8) {
        return Err(Unsupported::new(
            header.span,
            format!("header `{}` whose fixed part is not a whole number of bytes", header.name),
        ));
    }
    let varbit = header.varbit.map(|i| i as usize);
    let varbit_at = match varbit {
        Some(i) if !header.fields[i].offset_bits.is_multiple_of(8) => {
            return Err(Unsupported::new(
                header.span,
                format!("header `{}` whose varbit field does not begin at a byte", header.name),
            ));
        }
        Some(i) => Some(header.fields[i].offset_bits / 8),
        None => None,
    };
    Ok(HeaderLayout {
        bytes: header.fixed_bits / 8,
        from_packet: false,
        written: false,
        varbit_written: false,
        copied: false,
        extracted: false,
        image: None,
        varbit_at,
        varbit_bytes: varbit.map_or(0, |i| header.fields[i].width.div_ceil(8)),
    })
}

fn has_loop(pipeline: &Pipeline) -> bool {
    let mut found = false;
    for block in walk::all_blocks(pipeline) {
        walk::stmts(block, &mut |s| found |= matches!(s.kind, StmtKind::Loop { .. }));
    }
    found
}

/// The number of limbs of a value. A value of width 0 has one, which is zero.
pub(crate) fn limbs(width: u32) -> usize {
    width.div_ceil(64).max(1) as usize
}
