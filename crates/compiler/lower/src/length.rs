//! Notes which headers a program makes valid and invalid, for the length that egress reads.

use hopwright_ir::{HeaderId, Span};
use hopwright_opt::length;
use hopwright_sema::hir;

use crate::storage::{Loc, Place};
use crate::{Lowering, Result};

impl Lowering<'_> {
    /// Counts a header that a call of `setValid` or `setInvalid` is about to change.
    pub(crate) fn note_length(&mut self, header: HeaderId, becomes_valid: bool, span: Span) {
        if let Some(change) = self.length_change {
            let note = length::note(change, &self.headers[header.index()], becomes_valid, span);
            self.emit(note.kind, note.span);
        }
    }

    /// Counts the headers of a location that a list is about to be stored in. p4c makes such an assignment a call of `setValid` and
    /// assignments of the fields.
    pub(crate) fn note_lists(&mut self, loc: &Loc, value: &hir::Expr, span: Span) -> Result<()> {
        let hir::ExprKind::Aggregate { members, .. } = &value.kind else { return Ok(()) };
        if self.length_change.is_none() {
            return Ok(());
        }
        match loc {
            Loc::Place(Place::Header(header)) => self.note_length(*header, true, span),
            Loc::Place(Place::Struct(places)) => {
                for (place, member) in places.clone().iter().zip(members) {
                    self.note_lists(&Loc::Place(place.clone()), member, span)?;
                }
            }
            Loc::Place(_) => {}
            Loc::Select { index, options } => {
                self.switch_on_index(index, options, span, |this, option| this.note_lists(option, value, span))?;
            }
        }
        Ok(())
    }
}
