//! Declarations: top level, members of parsers, controls and externs, and parser states.

use super::{Abort, PResult, Parser, Region, StmtContext};
use crate::ast::{
    ActionDecl, Annotation, ConstDecl, ControlDecl, Decl, DeclKind, Direction, EnumDecl, EnumMember, ExternObjectDecl,
    Field, FunctionDecl, FunctionSig, Ident, InstanceDecl, MethodDecl, Param, ParserDecl, PipelineSig, SelectCase,
    SelectExpr, StateDecl, StructDecl, StructKind, Transition, TypeExpr, TypeKind, TypedefDecl, TypedefTarget,
    ValueSetDecl,
};
use crate::diagnostic::Diagnostic;
use crate::token::{Kw, P, Tok};
use hopwright_source::Span;

/// A member of a parser's body.
enum ParserItem {
    Local(Decl),
    State(StateDecl),
}

/// A member of a control's body.
enum ControlItem {
    Local(Box<Decl>),
    Apply(crate::ast::Block),
}

impl Parser<'_> {
    /// `declaration`; nothing for a mere announcement of an extern.
    pub(super) fn top_level_decl(&mut self) -> PResult<Option<Decl>> {
        let annotations = self.annotations()?;
        let start = self.peek().span;
        let kind = match self.kind() {
            Tok::Kw(Kw::Const) => return self.const_decl(annotations).map(Some),
            Tok::Kw(Kw::Action) => return self.action(annotations).map(Some),
            Tok::Kw(Kw::Extern) => return self.extern_decl(annotations),
            Tok::Kw(Kw::Header | Kw::HeaderUnion | Kw::Struct | Kw::Enum) => {
                let decl = self.derived_type(annotations)?;
                self.eat(P::Semi);
                return Ok(Some(decl));
            }
            Tok::Kw(Kw::Typedef | Kw::Type) => return self.typedef(annotations).map(Some),
            Tok::Kw(Kw::Parser) => self.parser_decl()?,
            Tok::Kw(Kw::Control) => self.control_decl()?,
            Tok::Kw(Kw::Package) => self.package()?,
            Tok::Kw(k @ (Kw::Error | Kw::MatchKind)) if self.nth_is(1, P::LBrace) => {
                if let (Some(first), Some(last)) = (annotations.first(), annotations.last()) {
                    let at = first.span.to(last.span);
                    self.complain(
                        Diagnostic::error("E0116", format!("annotations cannot stand before `{}`", k.text()))
                            .at(at, ""),
                    );
                }
                self.bump();
                let names = self.name_list()?;
                if k == Kw::Error { DeclKind::Error(names) } else { DeclKind::MatchKind(names) }
            }
            Tok::Kw(k @ (Kw::Table | Kw::State | Kw::ValueSet | Kw::Transition | Kw::Apply)) => {
                let place = match k {
                    Kw::Table | Kw::Apply => "controls",
                    _ => "parsers",
                };
                return Err(self.report(
                    Diagnostic::error("E0118", format!("`{}` cannot stand at top level", k.text()))
                        .at(start, "")
                        .note(format!("it belongs in {place}; is there a `}}` too many before it?")),
                ));
            }
            Tok::P(P::RBrace) => {
                return Err(self.report(Diagnostic::error("E0113", "unexpected `}`").at(start, "no `{` is open here")));
            }
            Tok::Ident | Tok::P(P::Dot) => return self.function_or_instance(annotations).map(Some),
            Tok::Kw(k) if k.starts_type() => {
                return self.function_or_instance(annotations).map(Some);
            }
            _ => return Err(self.expected("a declaration")),
        };
        Ok(Some(Decl { kind, annotations, span: self.span_from(start) }))
    }

    /// `{ name, name }`
    fn name_list(&mut self) -> PResult<Vec<Ident>> {
        self.expect(P::LBrace, "")?;
        self.comma_list(P::RBrace, true, "a name", |p| p.ident("a name"))
    }

    /// `constantDeclaration` after annotations
    pub(super) fn const_decl(&mut self, annotations: Vec<Annotation>) -> PResult<Decl> {
        let start = self.bump();
        let ty = self.ty()?;
        let name = self.ident("the name of a constant")?;
        let ty = self.array_suffix(ty)?;
        self.expect(P::Assign, "and a value after the name of a constant")?;
        let value = self.expr()?;
        self.declare(&name, false, false);
        self.expect_semi("after a constant")?;
        Ok(Decl { kind: DeclKind::Const(ConstDecl { ty, name, value }), annotations, span: self.span_from(start) })
    }

    // --- functions, actions, instances -------------------------------------------------------

    /// `functionDeclaration` or `instantiation` after annotations
    fn function_or_instance(&mut self, annotations: Vec<Annotation>) -> PResult<Decl> {
        let start = self.peek().span;
        let ret = self.type_or_void()?;
        if self.at(P::LParen) {
            return self.instance(annotations, start, ret);
        }
        if self.nth_is_name(0) && matches!(self.nth(1).kind, Tok::P(P::Semi | P::Assign)) {
            let at = self.peek().span;
            return Err(self.report(
                Diagnostic::error("E0118", "a variable cannot be declared at top level")
                    .at(at, "")
                    .help("declare a constant with `const`, or move it into a parser or control"),
            ));
        }
        let name = self.ident("the name of a function, or `(` of an instance")?;
        let decl = self.scoped(|p| {
            let sig = p.function_rest(ret, name)?;
            if p.at(P::Semi) {
                let at = sig.name.span;
                return Err(p.report(
                    Diagnostic::error("E0110", "expected the body of a function, found `;`")
                        .at(at, "this function has no body")
                        .help("mark it `extern` if the target provides it"),
                ));
            }
            let outer = std::mem::replace(&mut p.stmt_context, StmtContext::Body);
            let body = p.block("before the body of a function");
            p.stmt_context = outer;
            Ok(FunctionDecl { sig, body: body? })
        })?;
        self.declare(&decl.sig.name, false, !decl.sig.type_params.is_empty());
        Ok(Decl { kind: DeclKind::Function(decl), annotations, span: self.span_from(start) })
    }

    /// Type parameters and parameters of a function; the caller opened a scope for them.
    fn function_rest(&mut self, ret: TypeExpr, name: Ident) -> PResult<FunctionSig> {
        let type_params = self.type_params()?;
        self.declare_type_params(&type_params);
        let params = self.params()?;
        Ok(FunctionSig { ret, name, type_params, params })
    }

    /// `(arguments) name = { ... };` after the type
    fn instance(&mut self, annotations: Vec<Annotation>, start: Span, ty: TypeExpr) -> PResult<Decl> {
        let args = self.args()?;
        let name = self.ident("the name of an instance")?;
        if self.at(P::LBracket) {
            let at = self.peek().span;
            return Err(self.report(
                Diagnostic::error("E0118", "arrays of instances do not exist here")
                    .at(at, "P4 leaves them to architectures, and none that is known has them"),
            ));
        }
        let init = match self.eat(P::Assign) {
            Some(_) => {
                let (decls, _) = self.scoped(|p| p.braced("before an object's methods", Self::object_member))?;
                Some(decls)
            }
            None => None,
        };
        self.declare(&name, false, false);
        self.expect_semi("after an instance")?;
        Ok(Decl {
            kind: DeclKind::Instance(InstanceDecl { ty, args, name, init }),
            annotations,
            span: self.span_from(start),
        })
    }

    /// `objDeclaration`
    fn object_member(&mut self) -> PResult<Decl> {
        self.nested(|p| {
            let annotations = p.annotations()?;
            p.function_or_instance(annotations)
        })
    }

    fn action(&mut self, annotations: Vec<Annotation>) -> PResult<Decl> {
        let start = self.bump();
        let name = self.ident("the name of an action")?;
        self.declare(&name, false, false);
        let (params, body) = self.scoped(|p| {
            let params = p.params()?;
            Ok((params, p.block("before the body of an action")?))
        })?;
        Ok(Decl { kind: DeclKind::Action(ActionDecl { name, params, body }), annotations, span: self.span_from(start) })
    }

    /// `( parameterList )`; the parameters are declared in the current scope. After an error in one, those before it are kept, and
    /// parsing goes on behind the list, so that the body is read.
    fn params(&mut self) -> PResult<Vec<Param>> {
        self.expect(P::LParen, "before parameters")?;
        let mut params = Vec::new();
        let list = self.comma_list(P::RParen, false, "a parameter", |p| {
            params.push(p.param()?);
            Ok(())
        });
        if list.is_err() && !self.skip_parameters() {
            return Err(Abort);
        }
        for param in &params {
            self.declare(&param.name, false, false);
        }
        Ok(params)
    }

    /// After an error in a list of parameters: goes behind its `)`, or before the body if that is missing. False if neither is found.
    fn skip_parameters(&mut self) -> bool {
        let mut open = 0u32;
        loop {
            match self.kind() {
                Tok::Eof | Tok::P(P::Semi | P::RBrace) => return false,
                Tok::P(P::LBrace) => return true,
                Tok::P(P::LParen) => open += 1,
                Tok::P(P::RParen) if open == 0 => {
                    self.bump();
                    return matches!(self.kind(), Tok::P(P::LBrace | P::LParen | P::Semi));
                }
                Tok::P(P::RParen) => open -= 1,
                _ if self.peek().line_start && self.starts_surely_top_level() => return false,
                _ => {}
            }
            self.bump();
        }
    }

    fn param(&mut self) -> PResult<Param> {
        let annotations = self.annotations()?;
        let start = self.peek().span;
        let direction = if self.eat_kw(Kw::In).is_some() {
            Direction::In
        } else if self.eat_kw(Kw::Out).is_some() {
            Direction::Out
        } else if self.eat_kw(Kw::Inout).is_some() {
            Direction::InOut
        } else {
            Direction::None
        };
        let ty = self.ty()?;
        let name = self.ident("the name of a parameter")?;
        let ty = self.array_suffix(ty)?;
        let default = match self.eat(P::Assign) {
            Some(_) => Some(self.expr()?),
            None => None,
        };
        Ok(Param { annotations, direction, ty, name, default, span: self.span_from(start) })
    }

    // --- externs -----------------------------------------------------------------------------

    fn extern_decl(&mut self, annotations: Vec<Annotation>) -> PResult<Option<Decl>> {
        let start = self.bump();
        if self.nth_is_name(0) {
            let behind = if self.nth_is(1, P::Lt) { self.scan_angles(1).map_or(1, |a| a.end) } else { 1 };
            if self.nth_is(behind, P::LBrace) {
                let kind = self.extern_object()?;
                return Ok(Some(Decl { kind, annotations, span: self.span_from(start) }));
            }
            if self.nth_is(1, P::Semi) {
                let name = self.ident("the name of an extern")?;
                self.declare(&name, true, false);
                self.bump();
                return Ok(None);
            }
        }
        let ret = self.type_or_void()?;
        let name = self.ident("the name of an extern function")?;
        let sig = self.scoped(|p| p.function_rest(ret, name))?;
        self.declare(&sig.name, false, !sig.type_params.is_empty());
        if self.at(P::LBrace) {
            let at = self.peek().span;
            return Err(self.report(
                Diagnostic::error("E0110", "expected `;`, found `{`")
                    .at(at, "an extern function has no body")
                    .help("remove `extern` if this is a function of your own"),
            ));
        }
        self.expect_semi("after an extern function")?;
        Ok(Some(Decl { kind: DeclKind::ExternFunction(sig), annotations, span: self.span_from(start) }))
    }

    fn extern_object(&mut self) -> PResult<DeclKind> {
        let name = self.ident("the name of an extern")?;
        self.declare(&name, true, self.at(P::Lt));
        let (type_params, methods) = self.scoped(|p| {
            let type_params = p.type_params()?;
            p.declare_type_params(&type_params);
            let (methods, _) = p.braced("before the methods of an extern", |p| p.method(&name))?;
            Ok((type_params, methods))
        })?;
        Ok(DeclKind::ExternObject(ExternObjectDecl { name, type_params, methods }))
    }

    /// `methodPrototype`
    fn method(&mut self, object: &Ident) -> PResult<MethodDecl> {
        let annotations = self.annotations()?;
        let start = self.peek().span;
        let is_abstract = self.eat_kw(Kw::Abstract).is_some();
        let is_constructor = self.nth_is_name(0) && self.nth_is(1, P::LParen);
        let ret = if is_constructor { self.new_type(TypeKind::Void, start)? } else { self.type_or_void()? };
        let name = self.ident("the name of a method")?;
        if is_constructor && name.name != object.name {
            self.complain(
                Diagnostic::error("E0118", format!("method `{name}` has no return type"))
                    .at(name.span, "")
                    .help(format!("write `void {name}(...)`; only the constructor `{object}(...)` has none")),
            );
        }
        let sig = self.scoped(|p| p.function_rest(ret, name))?;
        self.expect_semi("after a method")?;
        Ok(MethodDecl { annotations, is_constructor, is_abstract, sig, span: self.span_from(start) })
    }

    // --- types -------------------------------------------------------------------------------

    /// `derivedTypeDeclaration` after annotations
    fn derived_type(&mut self, annotations: Vec<Annotation>) -> PResult<Decl> {
        let start = self.peek().span;
        let kind = match self.kind() {
            Tok::Kw(Kw::Header) => self.record(StructKind::Header)?,
            Tok::Kw(Kw::HeaderUnion) => self.record(StructKind::HeaderUnion)?,
            Tok::Kw(Kw::Struct) => self.record(StructKind::Struct)?,
            _ => self.enum_decl()?,
        };
        Ok(Decl { kind, annotations, span: self.span_from(start) })
    }

    fn record(&mut self, kind: StructKind) -> PResult<DeclKind> {
        self.bump();
        let name = self.ident("the name of a type")?;
        self.declare(&name, true, self.at(P::Lt));
        let (type_params, fields) = self.scoped(|p| {
            let type_params = p.type_params()?;
            p.declare_type_params(&type_params);
            let (fields, _) = p.braced_in(Region::Members, "before the fields", Self::field)?;
            Ok((type_params, fields))
        })?;
        Ok(DeclKind::Struct(StructDecl { kind, name, type_params, fields }))
    }

    fn field(&mut self) -> PResult<Field> {
        let annotations = self.annotations()?;
        let start = self.peek().span;
        let ty = self.ty()?;
        let name = self.ident("the name of a field")?;
        let ty = self.array_suffix(ty)?;
        self.expect_semi("after a field")?;
        Ok(Field { annotations, ty, name, span: self.span_from(start) })
    }

    fn enum_decl(&mut self) -> PResult<DeclKind> {
        self.bump();
        let underlying = if self.nth_is_name(0) && self.nth_is(1, P::LBrace) { None } else { Some(self.ty()?) };
        let name = self.ident("the name of an enum")?;
        self.declare(&name, true, false);
        self.expect(P::LBrace, "before the members of an enum")?;
        let has_type = underlying.is_some();
        let members = self.comma_list(P::RBrace, true, "a member", |p| p.enum_member(has_type))?;
        Ok(DeclKind::Enum(EnumDecl { name, underlying, members }))
    }

    fn enum_member(&mut self, has_type: bool) -> PResult<EnumMember> {
        let name = self.ident("a member of an enum")?;
        if has_type {
            self.expect(P::Assign, "and a value: the enum has an underlying type")?;
            let value = Some(self.expr()?);
            return Ok(EnumMember { name, value });
        }
        if self.at(P::Assign) {
            let at = self.peek().span;
            return Err(self.report(
                Diagnostic::error("E0110", "a member of this enum cannot have a value")
                    .at(at, "")
                    .help("give the enum an underlying type: `enum bit<8> Name { ... }`"),
            ));
        }
        Ok(EnumMember { name, value: None })
    }

    /// `typedefDeclaration` after annotations, with its `;`
    fn typedef(&mut self, annotations: Vec<Annotation>) -> PResult<Decl> {
        let start = self.peek().span;
        let is_new_type = self.at_kw(Kw::Type);
        self.bump();
        let inner = self.checkpoint();
        let inner_annotations = self.annotations()?;
        let target = match self.kind() {
            Tok::Kw(Kw::Header | Kw::HeaderUnion | Kw::Struct | Kw::Enum) if !is_new_type => {
                TypedefTarget::Decl(Box::new(self.derived_type(inner_annotations)?))
            }
            _ => {
                if !inner_annotations.is_empty() {
                    self.rewind(inner);
                }
                TypedefTarget::Type(self.ty()?)
            }
        };
        let name = self.ident("the name of a type")?;
        let target = match target {
            TypedefTarget::Type(ty) => TypedefTarget::Type(self.array_suffix(ty)?),
            decl => decl,
        };
        self.declare(&name, true, false);
        self.expect_semi("after a type definition")?;
        Ok(Decl {
            kind: DeclKind::Typedef(TypedefDecl { name, is_new_type, target }),
            annotations,
            span: self.span_from(start),
        })
    }

    // --- parsers, controls, packages ---------------------------------------------------------

    /// Name, type parameters and parameters after the reserved word; the caller opened a scope, and
    /// declares the name outside of it.
    fn pipeline_sig(&mut self, what: &str) -> PResult<PipelineSig> {
        let name = self.ident(&format!("the name of a {what}"))?;
        let type_params = self.type_params()?;
        self.declare_type_params(&type_params);
        let params = self.params()?;
        Ok(PipelineSig { name, type_params, params })
    }

    /// Declares the name that comes next, as a type, before the scope of its parameters opens.
    fn declare_next_type(&mut self) {
        if self.nth_is_name(0) {
            let token = self.peek();
            let name = Ident { name: token.text.clone(), span: token.span };
            let generic = self.nth_is(1, P::Lt);
            self.declare(&name, true, generic);
        }
    }

    fn package(&mut self) -> PResult<DeclKind> {
        self.bump();
        self.declare_next_type();
        let sig = self.scoped(|p| p.pipeline_sig("package"))?;
        self.expect_semi("after a package")?;
        Ok(DeclKind::Package(sig))
    }

    fn constructor_params(&mut self) -> PResult<Vec<Param>> {
        if self.at(P::LParen) { self.params() } else { Ok(Vec::new()) }
    }

    fn parser_decl(&mut self) -> PResult<DeclKind> {
        self.bump();
        self.declare_next_type();
        let outer = std::mem::replace(&mut self.stmt_context, StmtContext::ParserState);
        let result = self.scoped(|p| {
            let sig = p.pipeline_sig("parser")?;
            if p.eat(P::Semi).is_some() {
                return Ok(DeclKind::ParserType(sig));
            }
            let constructor_params = p.constructor_params()?;
            let (items, body) = p.braced_in(Region::Members, "before the body of a parser", Self::parser_item)?;
            let mut locals = Vec::new();
            let mut states: Vec<StateDecl> = Vec::new();
            for item in items {
                match item {
                    ParserItem::State(state) => states.push(state),
                    ParserItem::Local(decl) => {
                        if let Some(first) = states.first() {
                            p.complain(
                                Diagnostic::error("E0118", "a parser's declarations must stand before its states")
                                    .at(decl.span, "move this up")
                                    .related(first.name.span, "the first state"),
                            );
                        }
                        locals.push(decl);
                    }
                }
            }
            if states.is_empty() {
                p.complain(
                    Diagnostic::error("E0118", format!("parser `{}` has no states", sig.name))
                        .at(body, "")
                        .help("a parser begins in the state `start`: `state start { ... }`"),
                );
            }
            Ok(DeclKind::Parser(ParserDecl { sig, constructor_params, locals, states }))
        });
        self.stmt_context = outer;
        result
    }

    fn parser_item(&mut self) -> PResult<ParserItem> {
        let annotations = self.annotations()?;
        match self.kind() {
            Tok::Kw(Kw::State) if self.nth_is_name(1) => self.state(annotations).map(ParserItem::State),
            Tok::Kw(Kw::ValueSet) => self.value_set(annotations).map(ParserItem::Local),
            Tok::Kw(Kw::Const) => self.const_decl(annotations).map(ParserItem::Local),
            _ => self.var_or_instance(annotations, "a state or declaration of a parser").map(ParserItem::Local),
        }
    }

    /// `variableDeclaration` or `instantiation` in a parser or control
    fn var_or_instance(&mut self, annotations: Vec<Annotation>, what: &str) -> PResult<Decl> {
        let start = self.peek().span;
        match self.kind() {
            Tok::Ident | Tok::P(P::Dot) => {}
            Tok::Kw(k) if k.starts_type() => {}
            _ => return Err(self.expected(what)),
        }
        if self.scan_type(0).is_none() || matches!(self.nth(1).kind, Tok::P(P::Assign) | Tok::P(P::Dot)) {
            return Err(self.report(
                Diagnostic::error("E0110", format!("expected {what}, found {}", self.peek().describe()))
                    .at(start, format!("expected {what}"))
                    .help("statements belong in `apply { ... }`, actions or states"),
            ));
        }
        let ty = self.ty()?;
        if self.at(P::LParen) {
            return self.instance(annotations, start, ty);
        }
        let decl = self.var_decl_after_type(annotations, start, ty)?;
        self.expect_semi("after a variable declaration")?;
        Ok(Decl { span: self.span_from(start), ..decl })
    }

    fn value_set(&mut self, annotations: Vec<Annotation>) -> PResult<Decl> {
        let start = self.bump();
        self.expect(P::Lt, "after `value_set`")?;
        let ty = self.ty()?;
        self.expect(P::Gt, "after the type of a value set")?;
        self.expect(P::LParen, "before the size of a value set")?;
        let size = self.free_expr()?;
        self.expect(P::RParen, "after the size of a value set")?;
        let name = self.ident("the name of a value set")?;
        self.declare(&name, false, false);
        self.expect_semi("after a value set")?;
        Ok(Decl { kind: DeclKind::ValueSet(ValueSetDecl { ty, size, name }), annotations, span: self.span_from(start) })
    }

    fn control_decl(&mut self) -> PResult<DeclKind> {
        self.bump();
        self.declare_next_type();
        let outer = std::mem::replace(&mut self.stmt_context, StmtContext::Body);
        let result = self.scoped(|p| {
            let sig = p.pipeline_sig("control")?;
            if p.eat(P::Semi).is_some() {
                return Ok(DeclKind::ControlType(sig));
            }
            let constructor_params = p.constructor_params()?;
            let errors = p.errors;
            let (items, body) = p.braced_in(Region::Members, "before the body of a control", Self::control_item)?;
            let mut locals = Vec::new();
            let mut apply: Option<crate::ast::Block> = None;
            for item in items {
                match item {
                    ControlItem::Apply(block) => match &apply {
                        None => apply = Some(block),
                        Some(first) => p.complain(
                            Diagnostic::error("E0118", "a control has only one `apply` block")
                                .at(block.span, "")
                                .related(first.span, "the first one"),
                        ),
                    },
                    ControlItem::Local(decl) => {
                        if let Some(first) = &apply {
                            p.complain(
                                Diagnostic::error(
                                    "E0118",
                                    "a control's declarations must stand before its `apply` block",
                                )
                                .at(decl.span, "move this up")
                                .related(first.span, "the `apply` block"),
                            );
                        }
                        locals.push(*decl);
                    }
                }
            }
            let Some(apply) = apply else {
                // Perhaps it was there and had an error.
                if p.errors == errors {
                    p.complain(
                        Diagnostic::error("E0118", format!("control `{}` has no `apply` block", sig.name))
                            .at(body, "")
                            .help("add `apply { }`"),
                    );
                }
                return Err(Abort);
            };
            Ok(DeclKind::Control(ControlDecl { sig, constructor_params, locals, apply }))
        });
        self.stmt_context = outer;
        result
    }

    fn control_item(&mut self) -> PResult<ControlItem> {
        let annotations = self.annotations()?;
        match self.kind() {
            Tok::Kw(Kw::Apply) => {
                self.bump();
                Ok(ControlItem::Apply(self.block("after `apply`")?))
            }
            Tok::Kw(Kw::Action) => self.action(annotations).map(|d| ControlItem::Local(Box::new(d))),
            Tok::Kw(Kw::Table) => self.table(annotations).map(|d| ControlItem::Local(Box::new(d))),
            Tok::Kw(Kw::Const) => self.const_decl(annotations).map(|d| ControlItem::Local(Box::new(d))),
            _ => self
                .var_or_instance(annotations, "a declaration or the `apply` block of a control")
                .map(|d| ControlItem::Local(Box::new(d))),
        }
    }

    // --- parser states -----------------------------------------------------------------------

    fn state(&mut self, annotations: Vec<Annotation>) -> PResult<StateDecl> {
        let start = self.bump();
        let name = self.ident("the name of a state")?;
        self.declare(&name, false, false);
        let mut transition = None;
        let (parts, _) = self.scoped(|p| {
            p.braced_in(Region::State, "before the statements of a state", |p| {
                if let Some(at) = p.eat_kw(Kw::Transition) {
                    let next = p.transition()?;
                    if transition.is_none() {
                        transition = Some(next);
                        if !p.at(P::RBrace) && !p.at_end() {
                            let behind = p.peek().span;
                            p.complain(
                                Diagnostic::error("E0118", "a state ends with its transition")
                                    .at(behind, "this would never run")
                                    .related(at, "the transition"),
                            );
                        }
                    }
                    return Ok(None);
                }
                p.stmt().map(Some)
            })
        })?;
        Ok(StateDecl {
            annotations,
            name,
            stmts: parts.into_iter().flatten().collect(),
            transition,
            span: self.span_from(start),
        })
    }

    /// `stateExpression`
    pub(super) fn transition(&mut self) -> PResult<Transition> {
        if self.at_kw(Kw::Select) {
            let select = self.select()?;
            self.eat(P::Semi);
            return Ok(Transition::Select(select));
        }
        let state = self.ident("the name of a state or `select`")?;
        self.expect_semi("after a transition")?;
        Ok(Transition::Direct(state))
    }

    fn select(&mut self) -> PResult<SelectExpr> {
        let start = self.bump();
        self.expect(P::LParen, "after `select`")?;
        let exprs = self.comma_list(P::RParen, true, "an expression", Self::expr)?;
        let (cases, _) = self.braced("before the cases of `select`", Self::select_case)?;
        Ok(SelectExpr { exprs, cases, span: self.span_from(start) })
    }

    fn select_case(&mut self) -> PResult<SelectCase> {
        let start = self.peek().span;
        let keyset = self.keyset()?;
        self.expect(P::Colon, "after a select case's key")?;
        let state = self.ident("the name of a state")?;
        self.expect_semi("after a select case")?;
        Ok(SelectCase { keyset, state, span: self.span_from(start) })
    }
}
