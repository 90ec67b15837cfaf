//! Hashes that a control plane changes (`<hash>.configure`, `<hash>.algorithm`).
//!
//! A register of the architecture says whether it has. If so, an object of the type `DynHash` computes the hash; if not, the program's own
//! function does.

use hopwright_ir::{Expr, ExprKind, ExternArg, ExternFn, ExternId, ExternKind, StmtKind, Type};
use hopwright_sema::hir;
use hopwright_sema::reached::Reached;
use hopwright_source::Span;

use super::hash::Function;
use crate::value::Value;
use crate::{Lowering, Result};

/// What the register's name ends with, behind that of the hash.
const SUFFIX: &str = "$dynamic_hash";
/// Bits of a word of data.
const WORD: u32 = 64;
/// The most words of data.
const MAX_WORDS: u32 = 16;

impl Lowering<'_> {
    /// The register that says whether a hash has changed. `None` if it cannot: its calls hash different things, or what has no names, or it
    /// is random or symmetric.
    pub(super) fn dynamic_hash(&mut self, object: hir::ObjectId, width: u32) -> Option<ExternId> {
        if let Some(known) = self.dynamic_hashes.get(&object) {
            return *known;
        }
        let fields = Reached::new(self.program).hash_fields(self.program, object);
        let bits: u32 = fields.iter().flatten().map(|(_, bits)| bits).sum();
        let hash = &self.program[object];
        let fixed = hash.annotations.iter().any(|a| a.name == "symmetric")
            || hash.args.first().and_then(|e| self.member_name(e)) == Some("RANDOM");
        let fits = !fixed && (1..=MAX_WORDS * WORD).contains(&bits) && width <= WORD && !hash.name.is_empty();
        let register = fits.then(|| {
            let hash = &self.program[object];
            let kind = ExternKind::Named { type_name: "DynHash".into(), args: vec![bits.div_ceil(WORD).into()] };
            self.externs[object.0 as usize].kind = kind;
            self.concurrent_register(&format!("{}{SUFFIX}", hash.name), 1, Type::Bits(1), hash.span)
        });
        self.dynamic_hashes.insert(object, register);
        register
    }

    /// A hash that a control plane may have changed.
    pub(super) fn changing_hash(
        &mut self,
        object: hir::ObjectId,
        register: ExternId,
        function: &Function,
        fields: Vec<Expr>,
        width: u32,
        span: Span,
    ) -> Result<Option<Value>> {
        let fields: Vec<Expr> = fields.into_iter().map(|field| self.freeze(field)).collect();
        let flag = self.temp(Type::Bits(1), span);
        let index = Expr::constant(0u32, Type::Bits(32), span);
        self.extern_call(ExternFn::RegisterRead(register), vec![ExternArg::Out(flag), ExternArg::In(index)], span);
        let result = self.temp(Type::Bits(width), span);
        let own = fields.clone();
        let otherwise = self.nested(|s| {
            let whole = s.fixed_hash(function, own, width, span)?;
            let whole = s.cast(whole, Type::Bits(width), span)?;
            s.emit(StmtKind::Assign(result, whole), span);
            Ok(())
        })?;
        let then = self.nested(|s| {
            let data = s.joined(&Value::Tree(fields.into_iter().map(Value::Scalar).collect()), span)?;
            let words = data.ty.width().div_ceil(WORD);
            let data = s.cast(data, Type::Bits(words * WORD), span)?;
            let data = s.freeze(data);
            let word = |at: u32| {
                let kind = ExprKind::Slice { arg: Box::new(data.clone()), hi: (at + 1) * WORD - 1, lo: at * WORD };
                let part = Expr { kind, ty: Type::Bits(WORD), span };
                ExternArg::In(if words == 1 { data.clone() } else { part })
            };
            let mut args: Vec<ExternArg> = (0..words).map(word).collect();
            let out = s.temp(Type::Bits(WORD), span);
            args.push(ExternArg::Out(out));
            let instance = Some(ExternId(object.0));
            s.extern_call(ExternFn::Named { instance, name: "get".into(), no_side_effects: true }, args, span);
            let value = s.slot_expr(out, span);
            let value = s.cast(value, Type::Bits(width), span)?;
            s.emit(StmtKind::Assign(result, value), span);
            Ok(())
        })?;
        let cond = self.slot_expr(flag, span);
        let cond = self.cast(cond, Type::Bool, span)?;
        self.emit(StmtKind::If { cond, then, otherwise }, span);
        Ok(Some(Value::Scalar(self.slot_expr(result, span))))
    }
}
