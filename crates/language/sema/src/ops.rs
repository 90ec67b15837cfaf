//! Operators: operand types, result types, folding of constants.

use hopwright_source::Span;
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;

use crate::analyser::Analyser;
use crate::consteval;
use crate::hir::{self, BinaryOp, ExprKind, UnaryOp};
use crate::infer::natural;
use crate::types::Ty;
use crate::value::{Typed, Value};

/// Maximum length of a concatenated string, in bytes.
const MAX_STRING: usize = 1 << 16;

/// The operator in the typed program.
pub(crate) fn binary_op(op: ast::BinaryOp) -> BinaryOp {
    match op {
        ast::BinaryOp::Mul => BinaryOp::Mul,
        ast::BinaryOp::Div => BinaryOp::Div,
        ast::BinaryOp::Mod => BinaryOp::Mod,
        ast::BinaryOp::Add => BinaryOp::Add,
        ast::BinaryOp::Sub => BinaryOp::Sub,
        ast::BinaryOp::AddSat => BinaryOp::SatAdd,
        ast::BinaryOp::SubSat => BinaryOp::SatSub,
        ast::BinaryOp::Shl => BinaryOp::Shl,
        ast::BinaryOp::Shr => BinaryOp::Shr,
        ast::BinaryOp::Le => BinaryOp::Le,
        ast::BinaryOp::Ge => BinaryOp::Ge,
        ast::BinaryOp::Lt => BinaryOp::Lt,
        ast::BinaryOp::Gt => BinaryOp::Gt,
        ast::BinaryOp::Ne => BinaryOp::Ne,
        ast::BinaryOp::Eq => BinaryOp::Eq,
        ast::BinaryOp::BitAnd => BinaryOp::BitAnd,
        ast::BinaryOp::BitXor => BinaryOp::BitXor,
        ast::BinaryOp::BitOr => BinaryOp::BitOr,
        ast::BinaryOp::Concat => BinaryOp::Concat,
        ast::BinaryOp::And => BinaryOp::And,
        ast::BinaryOp::Or => BinaryOp::Or,
    }
}

impl<'a> Analyser<'a> {
    /// A serialisable enum as its number; anything else unchanged.
    fn number(&mut self, e: Typed) -> Typed {
        let u = self.defs.underlying(&e.ty);
        if u == e.ty { e } else { self.convert(e, &u) }
    }

    pub(crate) fn unary(&mut self, op: ast::UnaryOp, operand: &'a ast::Expr, hint: Option<&Ty>, span: Span) -> Typed {
        let e = self.expr(operand, hint);
        if e.is_err() {
            return Typed::error(span);
        }
        let e = if op == ast::UnaryOp::Not { e } else { self.number(e) };
        let ok = match op {
            ast::UnaryOp::Not => e.ty == Ty::Bool,
            ast::UnaryOp::Complement => e.ty.width().is_some(),
            ast::UnaryOp::Negate | ast::UnaryOp::Plus => e.ty.width().is_some() || e.ty == Ty::InfInt,
        };
        if !ok {
            let shown = self.show(&e.ty);
            let mut d = Diagnostic::error("E0301", format!("`{}` cannot be applied to `{shown}`", op.symbol()))
                .at(span, "invalid operand");
            d = match &e.ty {
                Ty::ApplyResult(_) => d.help("ask whether the table had an entry: `!table.apply().hit`"),
                Ty::Bits(_) | Ty::Int(_) if op == ast::UnaryOp::Not => {
                    d.help("compare with zero, `x == 0`, or write `~` for all bits")
                }
                Ty::Bool => d.help("write `!` for truth values"),
                _ => d,
            };
            self.report(d);
            return Typed::error(span);
        }
        let ty = e.ty.clone();
        match (&e.value, op) {
            (Some(Value::Bool(b)), _) => return self.constant(Value::Bool(!b), &ty, span),
            (Some(Value::Int(i)), _) => {
                let v = match op {
                    ast::UnaryOp::Negate => -i,
                    ast::UnaryOp::Complement => -i - 1,
                    _ => i.clone(),
                };
                let v = consteval::wrap(&v, &ty);
                return self.constant(Value::Int(v), &ty, span);
            }
            (Some(Value::Opaque), _) => return self.constant(Value::Opaque, &ty, span),
            _ => {}
        }
        let effects = e.effects;
        let op = match op {
            ast::UnaryOp::Not => UnaryOp::Not,
            ast::UnaryOp::Complement => UnaryOp::BitNot,
            ast::UnaryOp::Negate => UnaryOp::Neg,
            ast::UnaryOp::Plus => {
                let mut e = e;
                e.place = crate::value::Place::None;
                return e;
            }
        };
        self.computed(ExprKind::Unary(op, Box::new(e.hir)), ty, span, effects)
    }

    pub(crate) fn binary(
        &mut self,
        op: ast::BinaryOp,
        left: &'a ast::Expr,
        right: &'a ast::Expr,
        hint: Option<&Ty>,
        span: Span,
    ) -> Typed {
        let hint = match op {
            ast::BinaryOp::Eq | ast::BinaryOp::Ne | ast::BinaryOp::Concat => None,
            _ => hint,
        };
        let l = self.expr(left, hint);
        if matches!(l.ty, Ty::ApplyResult(_))
            && let ast::ExprKind::Path(path) = &right.kind
            && let name @ ("hit" | "miss") = path.name.as_str()
            && self.lookup(name, false).is_none()
        {
            self.report(
                Diagnostic::error("E0301", format!("`{name}` is no value"))
                    .at(span, "does not say whether a table found an entry")
                    .help(format!("write `table.apply().{name}`")),
            );
            return Typed::error(span);
        }
        let r_hint = match op {
            ast::BinaryOp::Shl | ast::BinaryOp::Shr | ast::BinaryOp::Concat => None,
            _ => Some(l.ty.clone()).filter(|t| !t.is_literal() && !t.is_err()),
        };
        let r = self.expr(right, r_hint.as_ref());
        self.binary_typed(op, l, r, span)
    }

    /// A binary operation on checked operands.
    pub(crate) fn binary_typed(&mut self, op: ast::BinaryOp, l: Typed, r: Typed, span: Span) -> Typed {
        if l.is_err() || r.is_err() {
            return Typed::error(span);
        }
        let hop = binary_op(op);
        match hop {
            BinaryOp::And | BinaryOp::Or => self.logic(hop, op, l, r, span),
            BinaryOp::Eq | BinaryOp::Ne => self.equality(hop, op, l, r, span),
            BinaryOp::Concat => self.concat(op, l, r, span),
            BinaryOp::Shl | BinaryOp::Shr => self.shift(hop, op, l, r, span),
            _ => self.arithmetic(hop, op, l, r, span),
        }
    }

    fn operands(&mut self, op: ast::BinaryOp, l: &Typed, r: &Typed, span: Span) -> Typed {
        let (a, b) = (self.show(&l.ty), self.show(&r.ty));
        let mut d = Diagnostic::error("E0301", format!("`{}` cannot be applied to `{a}` and `{b}`", op.symbol()))
            .at(span, "invalid operands");
        let logic = matches!(op, ast::BinaryOp::And | ast::BinaryOp::Or);
        let help = match (&l.ty, &r.ty) {
            (Ty::ApplyResult(_), _) | (_, Ty::ApplyResult(_)) => {
                Some("ask `.hit` or `.miss` of what `apply()` found".to_string())
            }
            (Ty::Bits(_) | Ty::Int(_), _) | (_, Ty::Bits(_) | Ty::Int(_)) if logic => {
                Some(format!("to compare with zero, write `x != 0`; for each bit, write `{}`", &op.symbol()[..1]))
            }
            (Ty::Bits(x), Ty::Int(y)) if x == y => Some(format!("give both one type: `({a}) ...` or `({b}) ...`")),
            (Ty::Int(x), Ty::Bits(y)) if x == y => Some(format!("give both one type: `({a}) ...` or `({b}) ...`")),
            (Ty::Bits(x), Ty::Bits(y)) | (Ty::Int(x), Ty::Int(y)) => {
                let wide = if x > y { &a } else { &b };
                Some(format!("give both one width, for instance `({wide}) ...` around the narrower"))
            }
            (Ty::Bits(_), Ty::Int(_)) => Some(format!(
                "convert in two steps: the width, then the sign: `({b}) (bit<{}>) ...`",
                r.ty.width().unwrap_or(0)
            )),
            (Ty::Int(_), Ty::Bits(_)) => Some(format!(
                "convert in two steps: the width, then the sign: `({a}) (bit<{}>) ...`",
                l.ty.width().unwrap_or(0)
            )),
            (Ty::Bool, Ty::InfInt) | (Ty::InfInt, Ty::Bool) => Some("truth values are `true` and `false`".to_string()),
            _ => None,
        };
        if let Some(help) = help {
            d = d.help(help);
        }
        self.report(d);
        Typed::error(span)
    }

    fn logic(&mut self, hop: BinaryOp, op: ast::BinaryOp, l: Typed, r: Typed, span: Span) -> Typed {
        if l.ty != Ty::Bool || r.ty != Ty::Bool {
            return self.operands(op, &l, &r, span);
        }
        let decides = hop == BinaryOp::Or;
        match (&l.value, &r.value) {
            (Some(Value::Bool(b)), _) if *b == decides => {
                return self.constant(Value::Bool(*b), &Ty::Bool, span);
            }
            (Some(Value::Bool(_)), _) => {
                let mut r = r;
                r.hir.span = span;
                return r;
            }
            (_, Some(Value::Bool(b))) if *b != decides => {
                let mut l = l;
                l.hir.span = span;
                l.place = crate::value::Place::None;
                return l;
            }
            (Some(Value::Opaque), Some(_)) => {
                return self.constant(Value::Opaque, &Ty::Bool, span);
            }
            _ => {}
        }
        self.build(hop, l, r, Ty::Bool, span)
    }

    fn build(&mut self, op: BinaryOp, l: Typed, r: Typed, ty: Ty, span: Span) -> Typed {
        let effects = l.effects || r.effects;
        let kind = ExprKind::Binary(op, Box::new(l.hir), Box::new(r.hir));
        self.computed(kind, ty, span, effects)
    }

    /// Converts two operands to a common type; `None` if there is none.
    fn common(&mut self, l: Typed, r: Typed) -> Option<(Typed, Typed)> {
        if l.ty == r.ty && l.items.is_none() && r.items.is_none() {
            return Some((l, r));
        }
        let target = match (l.ty.is_literal(), r.ty.is_literal()) {
            (true, true) => match (natural(&l.ty), natural(&r.ty)) {
                (a, b) if a == b => a,
                _ => return None,
            },
            (false, true) => l.ty.clone(),
            (true, false) => r.ty.clone(),
            (false, false) => return None,
        };
        let stripped = self.defs.strip_newtype(&target);
        let fits = |ty: &Ty| match (ty, &stripped) {
            (Ty::InfInt, t) => t.width().is_some() || *t == Ty::InfInt,
            _ => true,
        };
        if !fits(&l.ty) || !fits(&r.ty) {
            return None;
        }
        let l = self.coerce(l, &target);
        let r = self.coerce(r, &target);
        Some((l, r))
    }

    fn equality(&mut self, hop: BinaryOp, op: ast::BinaryOp, l: Typed, r: Typed, span: Span) -> Typed {
        let (l, r) = if l.ty == r.ty {
            (l, r)
        } else {
            // A serialisable enum compares with numbers as its number.
            let enum_left = matches!(l.ty, Ty::Enum(_)) && r.ty != l.ty && !r.ty.is_literal();
            let enum_right = matches!(r.ty, Ty::Enum(_)) && r.ty != l.ty && !l.ty.is_literal();
            let number = l.ty == Ty::InfInt || r.ty == Ty::InfInt;
            let l = if enum_left || number { self.number(l) } else { l };
            let r = if enum_right || number { self.number(r) } else { r };
            (l, r)
        };
        let (lt, rt) = (l.clone(), r.clone());
        let Some((l, r)) = self.common(l, r) else {
            return self.operands(op, &lt, &rt, span);
        };
        if l.is_err() || r.is_err() {
            return Typed::error(span);
        }
        let known = l.value.is_some() && r.value.is_some();
        let comparable = !l.ty.any(&mut |t| {
            matches!(
                t,
                Ty::Void
                    | Ty::Extern(..)
                    | Ty::Block(..)
                    | Ty::Package(..)
                    | Ty::ApplyResult(_)
                    | Ty::InvalidLit
                    | Ty::DotsLit
                    | Ty::List(_)
                    | Ty::Param(_)
            ) || *t == Ty::MatchKind && !known
        });
        if !comparable {
            return self.operands(op, &l, &r, span);
        }
        match (&l.value, &r.value) {
            (Some(Value::Opaque), Some(_)) | (Some(_), Some(Value::Opaque)) => {
                return self.constant(Value::Opaque, &Ty::Bool, span);
            }
            (Some(a), Some(b)) => {
                let same = a == b;
                return self.constant(Value::Bool(same == (hop == BinaryOp::Eq)), &Ty::Bool, span);
            }
            _ => {}
        }
        self.build(hop, l, r, Ty::Bool, span)
    }

    fn concat(&mut self, op: ast::BinaryOp, l: Typed, r: Typed, span: Span) -> Typed {
        if let (Some(Value::Str(a)), Some(Value::Str(b))) = (&l.value, &r.value) {
            if a.len() + b.len() > MAX_STRING {
                self.error("E0402", span, "the string is too long", format!("more than {MAX_STRING} bytes"));
                return Typed::error(span);
            }
            let s = format!("{a}{b}");
            return self.constant(Value::Str(s.into()), &Ty::String, span);
        }
        if l.ty == Ty::String && r.ty == Ty::String && l.value.is_some() && r.value.is_some() {
            return self.constant(Value::Opaque, &Ty::String, span);
        }
        let (l, r) = (self.number(l), self.number(r));
        let (Some(a), Some(b)) = (l.ty.width(), r.ty.width()) else {
            return self.operands(op, &l, &r, span);
        };
        let width = a.saturating_add(b);
        if width > crate::types::MAX_WIDTH {
            self.error(
                "E0402",
                span,
                format!("the result has {width} bits"),
                format!("more than {}", crate::types::MAX_WIDTH),
            );
            return Typed::error(span);
        }
        let ty = match l.ty {
            Ty::Int(_) => Ty::Int(width),
            _ => Ty::Bits(width),
        };
        match (&l.value, &r.value) {
            (Some(Value::Int(x)), Some(Value::Int(y))) => {
                let v = consteval::concat(x, y, b, &ty);
                return self.constant(Value::Int(v), &ty, span);
            }
            (Some(_), Some(_)) => return self.constant(Value::Opaque, &ty, span),
            _ => {}
        }
        self.build(BinaryOp::Concat, l, r, ty, span)
    }

    fn shift(&mut self, hop: BinaryOp, op: ast::BinaryOp, l: Typed, r: Typed, span: Span) -> Typed {
        let (l, r) = (self.number(l), self.number(r));
        let left_ok = matches!(l.ty, Ty::Bits(_) | Ty::Int(_) | Ty::InfInt);
        let right_ok = matches!(r.ty, Ty::Bits(_) | Ty::InfInt) || (matches!(r.ty, Ty::Int(_)) && r.value.is_some());
        if !left_ok || !right_ok {
            return self.operands(op, &l, &r, span);
        }
        if l.ty == Ty::InfInt && r.value.is_none() {
            self.error(
                "E0307",
                span,
                "shifting an `int` by a number known only at run time has no width",
                "give the left side a width",
            );
            return Typed::error(span);
        }
        if let Some(Value::Int(n)) = &r.value
            && n.sign() == num_bigint::Sign::Minus
        {
            let at = r.span();
            self.error("E0401", at, "a shift by a negative number", "negative");
            return Typed::error(span);
        }
        let ty = l.ty.clone();
        if l.value.is_some() && r.value.is_some() {
            return self.fold(hop, &l, &r, ty, span);
        }
        let r = match (&r.ty, &r.value) {
            (Ty::InfInt | Ty::Int(_), Some(Value::Int(n))) => {
                // The amount gets the width it needs; one that exceeds the left side shifts all bits out.
                let width = (n.bits() as u32).clamp(1, crate::types::MAX_WIDTH);
                let all = consteval::mask(width);
                let n = n.min(&all).clone();
                let at = r.span();
                self.constant(Value::Int(n), &Ty::Bits(width), at)
            }
            (Ty::InfInt | Ty::Int(_), _) => {
                let at = r.span();
                self.constant(Value::Opaque, &Ty::Bits(32), at)
            }
            _ => r,
        };
        self.build(hop, l, r, ty, span)
    }

    fn fold(&mut self, hop: BinaryOp, l: &Typed, r: &Typed, ty: Ty, span: Span) -> Typed {
        match (&l.value, &r.value) {
            (Some(Value::Int(a)), Some(Value::Int(b))) => match consteval::integers(hop, a, b, &l.ty, &ty) {
                Ok(v) => self.constant(v, &ty, span),
                Err(why) => {
                    self.error("E0401", span, why, "in this constant expression");
                    Typed::error(span)
                }
            },
            _ => self.constant(Value::Opaque, &ty, span),
        }
    }

    fn arithmetic(&mut self, hop: BinaryOp, op: ast::BinaryOp, l: Typed, r: Typed, span: Span) -> Typed {
        let (l, r) = (self.number(l), self.number(r));
        let numeric = |t: &Ty| matches!(t, Ty::Bits(_) | Ty::Int(_) | Ty::InfInt);
        if !numeric(&l.ty) || !numeric(&r.ty) {
            return self.operands(op, &l, &r, span);
        }
        let infinite = l.ty == Ty::InfInt && r.ty == Ty::InfInt;
        let signed = matches!(l.ty, Ty::Int(_)) || matches!(r.ty, Ty::Int(_));
        let saturating = matches!(hop, BinaryOp::SatAdd | BinaryOp::SatSub);
        if infinite && saturating {
            self.error("E0301", span, format!("`{}` needs operands with a width", op.symbol()), "both are `int`");
            return Typed::error(span);
        }
        if signed && matches!(hop, BinaryOp::Div | BinaryOp::Mod) {
            return self.operands(op, &l, &r, span);
        }
        if matches!(hop, BinaryOp::Div | BinaryOp::Mod) {
            for side in [&l, &r] {
                if let Some(Value::Int(n)) = &side.value
                    && n.sign() == num_bigint::Sign::Minus
                {
                    let why = "division is not defined for negative numbers";
                    let at = side.span();
                    self.error("E0401", at, why, "negative");
                    return Typed::error(span);
                }
            }
        }
        let (lt, rt) = (l.clone(), r.clone());
        let Some((l, r)) = self.common(l, r) else {
            return self.operands(op, &lt, &rt, span);
        };
        if l.is_err() || r.is_err() {
            return Typed::error(span);
        }
        let ty = match hop {
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => Ty::Bool,
            _ => l.ty.clone(),
        };
        if l.value.is_some() && r.value.is_some() {
            return self.fold(hop, &l, &r, ty, span);
        }
        if matches!(hop, BinaryOp::Div | BinaryOp::Mod)
            && let Some(Value::Int(n)) = &r.value
            && n.sign() == num_bigint::Sign::NoSign
        {
            self.error("E0401", span, "division by zero", "in this expression");
            return Typed::error(span);
        }
        self.build(hop, l, r, ty, span)
    }

    pub(crate) fn mux(
        &mut self,
        condition: &'a ast::Expr,
        then: &'a ast::Expr,
        otherwise: &'a ast::Expr,
        hint: Option<&Ty>,
        span: Span,
    ) -> Typed {
        let c = self.expr_to(condition, &Ty::Bool);
        let a = self.expr(then, hint);
        let b = self.expr(otherwise, hint);
        if c.is_err() || a.is_err() || b.is_err() {
            return Typed::error(span);
        }
        if a.ty == Ty::InfInt && b.ty == Ty::InfInt && c.value.is_none() {
            self.error("E0307", span, "the width of this choice is unknown", "both alternatives are `int`");
            return Typed::error(span);
        }
        // If neither side has a type, literals take the expected one.
        let (a, b) = match hint {
            Some(h) if a.items.is_some() && b.items.is_some() && !h.is_literal() => {
                (self.coerce(a, h), self.coerce(b, h))
            }
            _ => (a, b),
        };
        let (at, bt) = (a.clone(), b.clone());
        let Some((a, b)) = self.common(a, b) else {
            if at.is_err() || bt.is_err() {
                return Typed::error(span);
            }
            let note = "both alternatives of `?:` must have the same type".to_string();
            self.mismatch(&bt.ty, &at.ty, bt.span(), vec![note]);
            return Typed::error(span);
        };
        if a.is_err() || b.is_err() {
            return Typed::error(span);
        }
        match &c.value {
            Some(Value::Bool(pick)) => {
                let mut t = if *pick { a } else { b };
                t.place = crate::value::Place::None;
                return t;
            }
            Some(Value::Opaque) if a.value.is_some() && b.value.is_some() => {
                return self.constant(Value::Opaque, &a.ty.clone(), span);
            }
            _ => {}
        }
        if matches!(a.ty, Ty::Void | Ty::Extern(..) | Ty::Block(..) | Ty::Package(..) | Ty::String) {
            let shown = self.show(&a.ty);
            self.error(
                "E0301",
                span,
                format!("`?:` cannot choose between values of type `{shown}`"),
                "known only at run time",
            );
            return Typed::error(span);
        }
        let ty = a.ty.clone();
        let effects = c.effects || a.effects || b.effects;
        let kind = hir::ExprKind::Mux(Box::new(c.hir), Box::new(a.hir), Box::new(b.hir));
        self.computed(kind, ty, span, effects)
    }
}
