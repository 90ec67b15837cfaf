//! `@symmetric("a", "b")` on `Hash` objects: the hash is the same when the values of the two fields are exchanged.
//!
//! Both fields are hashed in the place of the one that comes later in the data: it holds their exclusive or, and the other's place zeros. This
//! is the function that p4c's Tofino backend configures for the device, and not the CRC of the data. As there, only CRCs can be symmetric,
//! both names must be fields of the data, and have the same width. A hash of an action selector has the selector keys of its table as data.

use hopwright_ir::hash_object::Field;
use hopwright_ir::{BinaryOp, Expr, MatchKind, TableId, Type};
use hopwright_sema::hir;

use super::externs::object_of;

use crate::value::binary;
use crate::{Lowering, Result};

impl Lowering<'_> {
    /// Makes the data of a `Hash` object's call symmetric. `fields` are the scalars of `data`.
    pub(super) fn symmetric_data(&mut self, hash: &hir::Object, data: &hir::Expr, fields: &mut [Expr]) -> Result<()> {
        let mut names = Vec::new();
        if is_symmetric(hash) {
            self.program.scalar_names(data, &mut names);
        }
        self.make_symmetric(hash, &names, fields)
    }

    /// Makes the selector keys of a table symmetric, if the hash of its action selector is.
    pub(crate) fn symmetric_selector(&mut self, table: &hir::Table, id: TableId) -> Result<()> {
        let program = self.program;
        let selector = self.tables[id.index()].implementation.and_then(|object| program.objects.get(object.index()));
        let hash = selector.and_then(|selector| object_of(selector.args.get(1)?)).map(|id| &program[id]);
        let Some(hash) = hash.filter(|hash| self.is_tofino() && is_symmetric(hash)) else { return Ok(()) };
        let is_selector = |key: &hopwright_ir::Key| key.kind == MatchKind::Selector;
        let mut names = Vec::new();
        let mut fields = Vec::new();
        for (key, source) in self.tables[id.index()].keys.iter().zip(&table.keys) {
            if is_selector(key) {
                names.push(program.written_name(&source.expr));
                fields.push(key.expr.clone());
            }
        }
        self.make_symmetric(hash, &names, &mut fields)?;
        let keys = self.tables[id.index()].keys.iter_mut().filter(|key| is_selector(key));
        keys.zip(fields).for_each(|(key, field)| key.expr = field);
        Ok(())
    }

    /// The fields that the annotations of a hash name, as far as they are right.
    pub(super) fn symmetric_pairs(&self, hash: &hir::Object, fields: &[Field]) -> Vec<(usize, usize)> {
        let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
        let annotations = hash.annotations.iter().filter(|a| a.name == "symmetric");
        let pair = |annotation: &hir::Annotation| match annotation.args.as_slice() {
            [hir::AnnotationArg::String(first), hir::AnnotationArg::String(second)] => {
                Some((position(&names, first)?, position(&names, second)?))
            }
            _ => None,
        };
        annotations.filter_map(pair).collect()
    }

    /// Makes fields with these names symmetric, as the annotations of a hash say.
    fn make_symmetric(&mut self, hash: &hir::Object, names: &[String], fields: &mut [Expr]) -> Result<()> {
        let algorithm = hash.args.first().and_then(|e| self.member_name(e)).unwrap_or_default();
        let is_crc = algorithm.starts_with("CRC") || algorithm == "CUSTOM";
        let mut used = Vec::new();
        for annotation in hash.annotations.iter().filter(|a| a.name == "symmetric") {
            let span = annotation.span;
            let [hir::AnnotationArg::String(first), hir::AnnotationArg::String(second)] = annotation.args.as_slice()
            else {
                return Err(self.refuse(span, "E0310", "`@symmetric` takes the names of two fields".into()));
            };
            if !is_crc {
                return Err(self.refuse(span, "E0310", "only a CRC can be symmetric".into()));
            }
            let mut at = [0, 0];
            for (at, name) in at.iter_mut().zip([first, second]) {
                let found = position(names, name).filter(|_| names.len() == fields.len());
                let Some(found) = found else {
                    let message = format!("`{name}` is no field of the data of this hash");
                    return Err(self.refuse(span, "E0310", message));
                };
                if used.contains(&found) {
                    let message = format!("`{name}` is symmetric to another field already");
                    return Err(self.refuse(span, "E0310", message));
                }
                used.push(found);
                *at = found;
            }
            let [early, late] = if at[0] < at[1] { at } else { [at[1], at[0]] };
            let (width, text) = (fields[early].ty.width(), fields[early].span);
            if width != fields[late].ty.width() {
                return Err(self.refuse(span, "E0310", "symmetric fields have the same width".into()));
            }
            let ty = Type::Bits(width);
            let a = std::mem::replace(&mut fields[early], Expr::constant(0u32, ty, text));
            let (a, b) = (self.cast(a, ty, text)?, self.cast(fields[late].clone(), ty, text)?);
            fields[late] = binary(BinaryOp::Xor, a, b, ty, text);
        }
        Ok(())
    }
}

fn is_symmetric(hash: &hir::Object) -> bool {
    hash.annotations.iter().any(|a| a.name == "symmetric")
}

/// Which of these names a name means: itself, or the only one with the same last part. A control calls fields by its parameters, and
/// the annotation may call them as those that apply the control do.
fn position(names: &[String], name: &str) -> Option<usize> {
    if let Some(exact) = names.iter().position(|known| known == name) {
        return Some(exact);
    }
    let last = |name: &str| name.rsplit('.').next().map(str::to_string);
    let mut alike = names.iter().enumerate().filter(|(_, known)| last(known) == last(name));
    alike.next().filter(|_| alike.next().is_none()).map(|(at, _)| at)
}
