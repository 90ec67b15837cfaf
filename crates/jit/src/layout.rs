//! Where every slot of a packet's state lives while generated code runs, decided once for a whole pipeline.
//!
//! Fields that nothing but extraction writes stay in the packet and are loaded where they are read. Everything else
//! is an SSA variable. A header is a *base*: the address of its bytes, which is a place in the packet or, before it
//! was extracted, a block of zeros; copying a header copies the base. This module computes; it emits no code.

use hopwright_ir::passes::usage::Usage;
use hopwright_ir::passes::walk;
use hopwright_ir::{ExternArg, Header, HeaderId, Pipeline, SlotId, SlotKind, Stmt, StmtKind, Type};

use crate::Unsupported;
use crate::tail::Tail;

/// Where the value of a field is while the packet is processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Home {
    /// In the header's bytes, always.
    Bytes,
    /// In the header's bytes while parsing, then in a variable.
    BytesThenVariable,
    /// In a variable: the parser itself writes it.
    Variable,
}

/// One slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A variable per limb.
    Scalar,
    /// Field number `.1` of header `.0`.
    Field(HeaderId, u32),
    /// The varbit field of a header: where it lies follows from the header's base.
    HeaderVarbit(HeaderId),
    /// The validity bit of a header.
    Valid(HeaderId),
    /// A varbit that is no header field: address and length.
    Varbit,
}

/// Consecutive fields between two byte boundaries.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// First byte, a varbit before it counted as empty.
    pub byte: u32,
    /// Length in bytes.
    pub bytes: u32,
    /// Indices of the fields.
    pub fields: std::ops::Range<usize>,
    /// It lies behind the varbit field.
    pub behind_varbit: bool,
}

/// One header.
#[derive(Clone, Debug)]
pub(crate) struct HeaderLayout {
    /// Size in bytes without the varbit field.
    pub bytes: u32,
    /// Its bytes can be in the packet; if not, every field is zero until assigned.
    pub from_packet: bool,
    /// Homes of the fields.
    pub homes: Vec<Home>,
    /// The fields but the varbit, in wire order.
    pub groups: Vec<Group>,
    /// Offset in bytes of the varbit field.
    pub varbit_at: Option<u32>,
}

/// The decisions for a pipeline.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub places: Vec<Place>,
    pub headers: Vec<HeaderLayout>,
    /// Bytes of zeros that a base may point to.
    pub zeros: usize,
    /// Headers that surely lie where they belong at the end.
    pub tail: Tail,
    /// The program has loops or a parser that can go in circles: steps are counted.
    pub counts_steps: bool,
}

impl Layout {
    pub fn of(pipeline: &Pipeline) -> Result<Layout, Unsupported> {
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
        let mut layout = Layout { places, headers, zeros: 64, tail: Tail::of(pipeline), counts_steps: false };
        layout.find_homes(pipeline)?;
        // Headers of the tail that nobody looks at are only skipped: nobody needs to know where they are.
        let usage = Usage::of(pipeline);
        for header in &layout.tail.headers {
            let u = usage.header(*header);
            if !u.field_read && !u.field_written {
                layout.headers[header.index()].from_packet = false;
            }
        }
        let most = layout.headers.iter().map(|h| h.bytes as usize).max().unwrap_or(0);
        layout.zeros = (most + 64).next_multiple_of(64);
        layout.counts_steps = has_loop(pipeline) || parser_cycles(pipeline);
        Ok(layout)
    }

    pub fn header(&self, id: HeaderId) -> &HeaderLayout {
        &self.headers[id.index()]
    }

    /// Where a slot's value is; a varbit header field is never anywhere but in its bytes.
    pub fn home(&self, slot: SlotId) -> Home {
        match self.places[slot.index()] {
            Place::Field(h, f) => self.header(h).homes[f as usize],
            Place::HeaderVarbit(_) => Home::Bytes,
            Place::Scalar | Place::Valid(_) | Place::Varbit => Home::Variable,
        }
    }

    fn written(&mut self, slot: SlotId, home: Home) {
        if let Place::Field(h, f) = self.places[slot.index()] {
            let at = &mut self.headers[h.index()].homes[f as usize];
            *at = (*at).max(home);
        }
    }

    fn find_homes(&mut self, pipeline: &Pipeline) -> Result<(), Unsupported> {
        let mut same: Vec<(HeaderId, HeaderId)> = Vec::new();
        for state in &pipeline.parser.states {
            let mut result = Ok(());
            walk::stmts(&state.body, &mut |s| {
                if let Err(e) = self.statement(pipeline, s, Home::Variable, &mut same) {
                    result = Err(e);
                }
            });
            result?;
        }
        let in_parser = same.len();
        let states = pipeline.parser.states.len();
        for block in walk::all_blocks(pipeline).skip(states) {
            let mut result = Ok(());
            walk::stmts(block, &mut |s| {
                if let Err(e) = self.statement(pipeline, s, Home::BytesThenVariable, &mut same) {
                    result = Err(e);
                }
            });
            result?;
        }
        // Headers that are copied to each other keep each field in the same home, so that a copy is uniform.
        loop {
            let mut changed = false;
            for (i, &(a, b)) in same.iter().enumerate() {
                let (a, b) = (a.index(), b.index());
                if self.headers[a].from_packet != self.headers[b].from_packet {
                    self.headers[a].from_packet = true;
                    self.headers[b].from_packet = true;
                    changed = true;
                }
                for f in 0..self.headers[a].homes.len().min(self.headers[b].homes.len()) {
                    let mut home = self.headers[a].homes[f].max(self.headers[b].homes[f]);
                    if i < in_parser && home == Home::BytesThenVariable {
                        // They share their bytes before anything could be loaded.
                        home = Home::Variable;
                    }
                    for h in [a, b] {
                        if self.headers[h].homes[f] != home {
                            self.headers[h].homes[f] = home;
                            changed = true;
                        }
                    }
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
        home: Home,
        same: &mut Vec<(HeaderId, HeaderId)>,
    ) -> Result<(), Unsupported> {
        match &stmt.kind {
            StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => {
                if matches!(self.places[slot.index()], Place::HeaderVarbit(_)) {
                    return Err(Unsupported::new(stmt.span, "assigning a varbit header field"));
                }
                self.written(*slot, home);
            }
            StmtKind::Apply { hit, action_run, .. } => {
                hit.iter().chain(action_run).for_each(|&s| self.written(s, home));
            }
            StmtKind::Extern(call) => {
                for arg in &call.args {
                    if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                        self.written(*slot, home);
                    }
                }
            }
            StmtKind::Lookahead { parts, .. } => {
                for &(slot, _) in parts {
                    if matches!(pipeline[slot].ty, Type::Varbit(_)) {
                        return Err(Unsupported::new(stmt.span, "looking ahead into a varbit"));
                    }
                    self.written(slot, home);
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
    let mut groups = Vec::new();
    let mut first = 0;
    for (i, field) in header.fields.iter().enumerate() {
        if varbit == Some(i) {
            first = i + 1;
            continue;
        }
        let end = field.offset_bits + field.width;
        if end.is_multiple_of(8) {
            let start = header.fields[first].offset_bits;
            if end > start {
                groups.push(Group {
                    byte: start / 8,
                    bytes: (end - start) / 8,
                    fields: first..i + 1,
                    behind_varbit: varbit.is_some_and(|v| i > v),
                });
            }
            first = i + 1;
        }
    }
    Ok(HeaderLayout {
        bytes: header.fixed_bits / 8,
        from_packet: false,
        homes: vec![Home::Bytes; header.fields.len()],
        groups,
        varbit_at,
    })
}

fn has_loop(pipeline: &Pipeline) -> bool {
    let mut found = false;
    for block in walk::all_blocks(pipeline) {
        walk::stmts(block, &mut |s| found |= matches!(s.kind, StmtKind::Loop(_)));
    }
    found
}

/// True if some parser state can reach itself.
fn parser_cycles(pipeline: &Pipeline) -> bool {
    let successors: Vec<Vec<usize>> =
        pipeline.parser.states.iter().map(|s| crate::parser::successors(&s.transition)).collect();
    // Kahn: a graph without cycles can be taken apart from its leaves.
    let mut alive = vec![true; successors.len()];
    loop {
        let mut changed = false;
        for i in 0..successors.len() {
            if alive[i] && successors[i].iter().all(|&s| !alive[s]) {
                alive[i] = false;
                changed = true;
            }
        }
        if !changed {
            return alive.contains(&true);
        }
    }
}
