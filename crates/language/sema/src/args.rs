//! Arguments: assignment to parameters, inference of type arguments, directions.

use std::rc::Rc;

use hopwright_source::{Span, nearest};
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;
use num_bigint::BigInt;

use crate::analyser::Analyser;
use crate::defs::{DefaultValue, ParamSig, Sig};
use crate::hir::{self, Direction};
use crate::infer::{Unifier, natural, solved};
use crate::types::{Subst, Ty, bind};
use crate::value::{Place, Typed, Value};

/// Requirements on arguments besides their type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgRule {
    /// Any expression (direct calls of actions).
    Any,
    /// Constants for parameters without direction (parsers, controls, action data).
    ConstantUndirected,
    /// Constants only (constructors).
    Constant,
}

/// Arguments in the order of the parameters.
pub(crate) struct Checked {
    /// One per parameter; `None` for `_` and omitted optional ones.
    pub args: Vec<Option<Typed>>,
    /// The order of evaluation; see [`hir::Arg::turn`].
    pub turns: Vec<usize>,
    pub ret: Ty,
    /// Values of the type parameters after inference.
    pub subst: Subst,
}

impl Checked {
    /// The arguments for the typed program.
    pub(crate) fn hir(self, sig: &Sig) -> Vec<hir::Arg> {
        sig.params
            .iter()
            .zip(self.args)
            .zip(self.turns)
            .map(|((p, a), turn)| hir::Arg { direction: p.direction, value: a.map(|a| a.hir), turn })
            .collect()
    }

    /// The arguments for a body, without those that exist only at compile time.
    pub(crate) fn hir_of_body(self, sig: &Sig) -> Vec<hir::Arg> {
        let args = self.hir(sig);
        sig.params.iter().zip(args).filter(|(p, _)| !p.is_known()).map(|(_, arg)| arg).collect()
    }
}

impl<'a> Analyser<'a> {
    /// Whether arguments fit a signature by count and names.
    pub(crate) fn arity_fits(&self, sig: &Sig, args: &[ast::Arg]) -> bool {
        if args.len() > sig.params.len() {
            return false;
        }
        let mut given = vec![false; sig.params.len()];
        for (i, a) in args.iter().enumerate() {
            let at = match &a.name {
                Some(n) => sig.params.iter().position(|p| p.name == n.name),
                None => Some(i),
            };
            match at {
                Some(i) if !given[i] => given[i] = true,
                _ => return false,
            }
        }
        sig.params.iter().zip(given).all(|(p, g)| g || p.optional || p.default.is_some())
    }

    /// Assigns arguments to parameters; reports those that do not fit.
    fn place_args(&mut self, sig: &Sig, args: &'a [ast::Arg], span: Span) -> Option<Vec<Option<&'a ast::Arg>>> {
        let mut placed: Vec<Option<&'a ast::Arg>> = vec![None; sig.params.len()];
        let mut bad = false;
        let named = args.iter().filter(|a| a.name.is_some()).count();
        if named != 0 && named != args.len() {
            self.error("E0304", span, "either all arguments are named or none", "mixed here");
            return None;
        }
        for (i, a) in args.iter().enumerate() {
            let at = match &a.name {
                None => Some(i).filter(|i| *i < sig.params.len()),
                Some(n) => {
                    let at = sig.params.iter().position(|p| p.name == n.name);
                    if at.is_none() {
                        let names = sig.params.iter().map(|p| &*p.name);
                        let mut d = Diagnostic::error("E0304", format!("`{}` has no parameter `{n}`", sig.name))
                            .at(n.span, "no such parameter")
                            .related(sig.span, "declared here");
                        if let Some(near) = nearest(n.as_str(), names) {
                            d = d.did_you_mean(n.span, n.as_str(), near);
                        }
                        self.report(d);
                        bad = true;
                        continue;
                    }
                    if let Some(i) = at {
                        self.index_use(n.span, sig.params[i].span);
                    }
                    at
                }
            };
            match at {
                Some(i) if placed[i].is_none() => placed[i] = Some(a),
                Some(_) => {
                    self.error("E0304", a.span, "this parameter has an argument already", "second argument");
                    bad = true;
                }
                None => {
                    let n = sig.params.len();
                    self.report(
                        Diagnostic::error(
                            "E0304",
                            format!(
                                "`{}` takes {n} argument{}, {} given",
                                sig.name,
                                if n == 1 { "" } else { "s" },
                                args.len()
                            ),
                        )
                        .at(a.span, "too many arguments")
                        .related(sig.span, "declared here"),
                    );
                    return None;
                }
            }
        }
        let missing: Vec<String> = sig
            .params
            .iter()
            .zip(&placed)
            .filter(|(p, a)| a.is_none() && !p.optional && p.default.is_none())
            .map(|(p, _)| format!("`{}`", p.name))
            .collect();
        if !missing.is_empty() && !bad {
            let d = Diagnostic::error("E0304", format!("no argument for {} of `{}`", missing.join(", "), sig.name))
                .at(span, "arguments are missing")
                .related(sig.span, "declared here");
            self.report(if args.is_empty() { d } else { d.help(order(sig)) });
            return None;
        }
        (!bad).then_some(placed)
    }

    /// Checks arguments against a signature. `subst` maps type parameters to what is known of them (perhaps variables of
    /// `unifier`).
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn check_args(
        &mut self,
        sig: &Rc<Sig>,
        args: &'a [ast::Arg],
        subst: Subst,
        unifier: &mut Unifier,
        rule: ArgRule,
        hint: Option<&Ty>,
        span: Span,
    ) -> Option<Checked> {
        let placed = self.place_args(sig, args, span)?;
        let mut subst = subst;
        subst.extend(unifier.fresh(&sig.open_types));
        let mut typed: Vec<Option<Typed>> = Vec::new();
        let mut bad = false;
        // Arguments with a type of their own take part in inference before literals.
        for (p, a) in sig.params.iter().zip(&placed) {
            let want = unifier.resolve(&p.ty.subst(&subst));
            let Ok(t) = self.argument(p, *a, &want) else {
                bad = true;
                typed.push(None);
                continue;
            };
            bad |= t.as_ref().is_some_and(Typed::is_err);
            if let Some(t) = &t
                && !bad
                && !t.ty.is_literal()
            {
                self.learn(unifier, sig, p, &subst, t)?;
            }
            typed.push(t);
        }
        if bad {
            return None;
        }
        if let Some(hint) = hint {
            let ret = unifier.resolve(&sig.ret.subst(&subst));
            if ret.has_vars() && !hint.is_literal() && !hint.has_vars() {
                // Only a hint: the conversion after the call decides.
                unifier.unify(&self.defs, &ret, hint);
            }
        }
        unifier.apply_defaults();
        for (p, _) in sig.params.iter().zip(&placed).filter(|(_, given)| given.is_none()) {
            if let Some(DefaultValue::Open(at)) = p.default {
                self.learn_default(at, &subst, &p.ty.subst(&subst), unifier);
            }
        }
        for (p, t) in sig.params.iter().zip(&typed) {
            if let Some(t) = t
                && t.ty.is_literal()
            {
                self.learn(unifier, sig, p, &subst, t)?;
            }
        }
        let subst = solved(unifier, &subst);
        let mut out = Vec::new();
        for ((p, t), given) in sig.params.iter().zip(typed).zip(&placed) {
            let want = p.ty.subst(&subst);
            let t = match (t, &p.default) {
                (None, Some(DefaultValue::Open(at))) if given.is_none() => {
                    self.context.nameless =
                        self.context.named_by_parameters.then(|| p.control_plane_name().to_string());
                    Some(self.open_default(*at, &subst, &want, span)?)
                }
                (t, _) => t,
            };
            let Some(t) = t else {
                out.push(None);
                continue;
            };
            out.push(Some(self.converted(unifier, (sig, p), rule, &want, t)?));
        }
        let ret = sig.ret.subst(&subst);
        // Defaults are evaluated after the arguments in the source.
        let turn = |a: &Option<&ast::Arg>| a.and_then(|a| args.iter().position(|b| std::ptr::eq(a, b)));
        let turns = placed.iter().map(|a| turn(a).unwrap_or(args.len())).collect();
        Some(Checked { args: out, turns, ret, subst })
    }

    /// The value of an argument for a parameter of this type, if it has one: not if it is left out or ignored.
    fn argument(&mut self, p: &ParamSig, given: Option<&'a ast::Arg>, want: &Ty) -> Result<Option<Typed>, ()> {
        let Some(a) = given else {
            return Ok(match &p.default {
                Some(DefaultValue::Known(value)) => Some((**value).clone()),
                Some(DefaultValue::Open(_)) | None => None,
            });
        };
        if matches!(a.value.kind, ast::ExprKind::DontCare) {
            if p.direction == Direction::Out || p.optional {
                return Ok(None);
            }
            let what = format!("`_` is not possible for parameter `{}`", p.name);
            self.error("E0317", a.span, what, "only results can be ignored");
            return Err(());
        }
        let hint = Some(want).filter(|w| !w.has_vars());
        if self.context.named_by_parameters {
            self.context.nameless = Some(p.control_plane_name().to_string());
        }
        let value = self.expr(&a.value, hint);
        self.context.nameless = None;
        Ok(Some(value))
    }

    /// An argument as its parameter takes it; reports an error if it does not.
    fn converted(
        &mut self,
        unifier: &mut Unifier,
        (sig, p): (&Sig, &ParamSig),
        rule: ArgRule,
        want: &Ty,
        t: Typed,
    ) -> Option<Typed> {
        if want.has_vars() && !matches!(want, Ty::Block(..) | Ty::Extern(..)) {
            return Some(t); // reported by the caller as not inferred
        }
        if want.any(&mut |t| *t == Ty::InfInt) && t.ty.is_literal() && p.ty != *want {
            let at = t.span();
            self.report(
                Diagnostic::error("E0303", "the width of this number cannot be inferred")
                    .at(at, format!("for parameter `{}`", p.name))
                    .help("give it a width, such as `32w0`"),
            );
            return None;
        }
        if *want == Ty::String && p.direction != Direction::None {
            let at = t.span();
            let what = format!("parameter `{}` of `{}` takes no string", p.name, sig.name);
            self.error("E0317", at, what, "strings exist only at compile time");
            return None;
        }
        if matches!(p.direction, Direction::Out | Direction::InOut) {
            if !self.check_writable(&t) {
                return None;
            }
            if t.ty != *want && !self.blocks_fit(want, &t.ty) {
                let note = format!("parameter `{}` of `{}`", p.name, sig.name);
                self.mismatch(&t.ty, want, t.span(), vec![note]);
                return None;
            }
            return Some(t);
        }
        if self.blocks_fit(want, &t.ty) {
            return Some(t);
        }
        if matches!((want, &t.ty), (Ty::Block(..), Ty::Block(..))) {
            self.wrong_block(unifier, sig, p, want, &t);
            return None;
        }
        if rule == ArgRule::Constant && !self.check_range(sig, p, want, &t) {
            return None;
        }
        let t = self.coerce(t, want);
        if t.is_err() {
            return None;
        }
        let constant = match rule {
            ArgRule::Any => false,
            ArgRule::ConstantUndirected => p.direction == Direction::None,
            ArgRule::Constant => true,
        };
        if constant && t.value.is_none() && !matches!(t.ty, Ty::Extern(..)) {
            let at = t.span();
            self.report(
                Diagnostic::error("E0400", "this must be known at compile time")
                    .at(at, "not a compile-time constant")
                    .note(format!("parameter `{}` of `{}` takes only constants", p.name, sig.name)),
            );
            return None;
        }
        Some(t)
    }

    /// Whether a parameter of an extern object's constructor, such as a size, has the bits that a number needs; reports an error if not.
    /// What parsers and controls are made with loses its upper bits with a warning, as everywhere.
    fn check_range(&mut self, sig: &Sig, p: &ParamSig, want: &Ty, t: &Typed) -> bool {
        let number = self.defs.strip_newtype(want);
        let (Some(Value::Int(i)), Ty::InfInt, Some(width)) = (&t.value, &t.ty, number.width()) else { return true };
        let mut constructors = self.defs.externs.iter().flat_map(|e| &e.constructors);
        if i.bits() <= u64::from(width) || constructors.all(|c| c.span != sig.span) {
            return true;
        }
        let (lowest, highest) = match number {
            Ty::Int(_) => (-(BigInt::from(1) << (width - 1)), (BigInt::from(1) << (width - 1)) - 1),
            _ => (BigInt::ZERO, (BigInt::from(1) << width) - 1),
        };
        let shown = self.show(want);
        self.report(
            Diagnostic::error("E0402", format!("{i} does not fit `{shown}`"))
                .at(t.span(), format!("must be from {lowest} to {highest}"))
                .note(format!("parameter `{}` of `{}`", p.name, sig.name)),
        );
        false
    }

    /// Infers from one argument; reports an error if that is impossible.
    fn learn(&mut self, unifier: &mut Unifier, sig: &Sig, p: &ParamSig, subst: &Subst, t: &Typed) -> Option<()> {
        let want = p.ty.subst(subst);
        if unifier.learn(&self.defs, &want, t) {
            return Some(());
        }
        let want = unifier.resolve(&want);
        if matches!((&want, &t.ty), (Ty::Block(..), Ty::Block(..))) {
            self.wrong_block(unifier, sig, p, &want, t);
            return None;
        }
        let mut notes = vec![format!("parameter `{}` of `{}`", p.name, sig.name)];
        notes.extend(self.block_difference(unifier, &want, &t.ty));
        self.mismatch(&natural(&t.ty), &want, t.span(), notes);
        None
    }

    /// Reports a parser or control in the place of another.
    fn wrong_block(&mut self, unifier: &mut Unifier, sig: &Sig, p: &ParamSig, want: &Ty, t: &Typed) {
        let (Ty::Block(w, _), Ty::Block(f, _)) = (want, &t.ty) else { return };
        let at = sig.params.iter().position(|q| q.name == p.name).unwrap_or(0);
        let (wanted, found) = (&self.defs.blocks[*w].name, &self.defs.blocks[*f].name);
        let message = format!("argument {} of `{}` must be a `{wanted}`, which `{found}` is not", at + 1, sig.name);
        let mut d = Diagnostic::error("E0300", message)
            .at(t.span(), format!("this is for `{}`", p.name))
            .related(p.span, "the parameter");
        if let Some(why) = self.block_difference(unifier, want, &t.ty) {
            d = d.note(why);
        }
        self.report(d.help(order(sig)));
    }

    /// The reason that a parser or control does not fit a type.
    fn block_difference(&self, unifier: &mut Unifier, want: &Ty, found: &Ty) -> Option<String> {
        let (Ty::Block(w, want_args), Ty::Block(f, found_args)) = (want, found) else {
            return None;
        };
        let (w, f) = (&self.defs.blocks[*w], &self.defs.blocks[*f]);
        let kind = |is_parser| if is_parser { "parser" } else { "control" };
        if w.is_parser != f.is_parser {
            return Some(format!("`{}` is a {}, `{}` a {}", w.name, kind(w.is_parser), f.name, kind(f.is_parser)));
        }
        let (wp, fp) = (&w.apply.params, &f.apply.params);
        if wp.len() != fp.len() {
            return Some(format!("`{}` has {} parameters, `{}` has {}", w.name, wp.len(), f.name, fp.len()));
        }
        let (ws, fs) = (bind(&w.type_params, want_args), bind(&f.type_params, found_args));
        for (i, (p, q)) in wp.iter().zip(fp).enumerate() {
            let (pt, qt) = (p.ty.subst(&ws), q.ty.subst(&fs));
            if p.direction != q.direction {
                let (want, found) = (direction(p.direction), direction(q.direction));
                return Some(format!("parameter {} must be {want}, but `{}` is {found}", i + 1, q.name));
            }
            if !unifier.unify(&self.defs, &pt, &qt) {
                let (pt, qt) = (self.show(&unifier.resolve(&pt)), self.show(&qt));
                return Some(format!("parameter {} must be `{pt}`, but `{}` is `{qt}`", i + 1, q.name));
            }
        }
        None
    }

    /// Whether a parser or control fits where `want` is expected.
    pub(crate) fn blocks_fit(&mut self, want: &Ty, found: &Ty) -> bool {
        matches!((want, found), (Ty::Block(..), Ty::Block(..))) && Unifier::default().unify(&self.defs, want, found)
    }

    /// Reports an error unless the expression is a left-value that may change.
    pub(crate) fn check_writable(&mut self, t: &Typed) -> bool {
        match &t.place {
            Place::Writable => true,
            Place::RunTimeBits => {
                self.unsupported(t.span(), "changing bits at a run-time position, except by an assignment, is");
                false
            }
            Place::ReadOnly(why, declared) => {
                let mut d = Diagnostic::error("E0305", "this cannot be changed").at(t.span(), (*why).to_string());
                if let Some(at) = declared {
                    d = d.related(*at, "declared here");
                }
                self.report(d);
                false
            }
            Place::None => {
                let at = t.span();
                self.error("E0305", at, "this cannot be assigned to", "not a left-value");
                false
            }
        }
    }
}

/// The order of a signature's arguments, for a message.
fn order(sig: &Sig) -> String {
    let names: Vec<&str> = sig.params.iter().map(|p| &*p.name).collect();
    format!("the arguments of `{}` are, in this order: {}", sig.name, names.join(", "))
}

/// A direction, for a message.
fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::None => "without a direction",
        Direction::In => "`in`",
        Direction::Out => "`out`",
        Direction::InOut => "`inout`",
    }
}
