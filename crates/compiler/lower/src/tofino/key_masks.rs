//! Masks of the keys of exact tables, which a control plane changes (`@dynamic_table_key_masks(1)`).
//!
//! A register of the architecture has a mask for each key. All bits of a mask are ones at first.

use hopwright_ir::{BinaryOp, Expr, ExternArg, ExternFn, ExternId, ExternKind, Key, MatchForm, Type};
use hopwright_sema::hir;
use num_bigint::{BigInt, BigUint};

use crate::value::{binary, slice};
use crate::{Lowering, Result};

/// What the register's name ends with, behind that of the table.
const SUFFIX: &str = "$dynamic_key_mask";

impl Lowering<'_> {
    /// Whether a table's keys have masks that change.
    pub(crate) fn has_key_masks(&self, table: &hir::Table) -> bool {
        let wanted = |a: &hir::Annotation| match (&a.form, a.args.as_slice()) {
            (_, [hir::AnnotationArg::Int(number)]) => *number != BigInt::ZERO,
            (hir::AnnotationForm::Free(words), _) => words.first().is_some_and(|word| word != "0"),
            _ => false,
        };
        self.is_tofino() && table.annotations.iter().any(|a| a.name == "dynamic_table_key_masks" && wanted(a))
    }

    /// Adds the register of a table's masks.
    pub(crate) fn key_masks(&mut self, table: &hir::Table, keys: &[Key]) -> Result<ExternId> {
        if keys.iter().any(|key| key.kind.form() != MatchForm::Value || !matches!(key.expr.ty, Type::Bits(_))) {
            return Err(self.unsupported(table.span, "a mask of keys that are not exact numbers"));
        }
        let width = keys.iter().map(|key| key.expr.ty.width()).max().unwrap_or(1);
        let name = format!("{}{SUFFIX}", table.control_plane_name);
        let register = self.concurrent_register(&name, keys.len() as u64, Type::Bits(width), table.span);
        self.externs[register.index()].initial = (BigUint::from(1u32) << width) - 1u32;
        Ok(register)
    }

    /// The value of a key under its mask.
    pub(crate) fn masked_key(&mut self, masks: ExternId, index: usize, value: Expr) -> Result<Expr> {
        let (span, ty) = (value.span, value.ty);
        let ExternKind::Register { ty: cell, .. } = self.externs[masks.index()].kind else { return Ok(value) };
        let mask = self.temp(cell, span);
        let index = Expr::constant(index as u32, Type::Bits(32), span);
        let args = vec![ExternArg::Out(mask), ExternArg::In(index)];
        self.extern_call(ExternFn::RegisterRead(masks), args, span);
        let mut mask = self.slot_expr(mask, span);
        if ty != cell {
            mask = slice(mask, ty.width() - 1, span);
        }
        Ok(binary(BinaryOp::And, value, mask, ty, span))
    }
}
