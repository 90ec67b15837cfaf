//! Statements and expressions.

use super::*;

impl Reader<'_> {
    /// Statements in braces.
    pub(super) fn braces(&mut self) -> Result<Block> {
        self.expect_sign("{")?;
        self.nested(|s| {
            let mut body = Vec::new();
            while !s.sign("}") {
                body.push(s.stmt()?);
            }
            Ok(body)
        })
    }

    pub(super) fn stmt(&mut self) -> Result<Stmt> {
        let start = self.at;
        let kind = match self.token().clone() {
            Token::Word(word) => {
                self.at += 1;
                match self.keyword(&word)? {
                    Some(kind) => kind,
                    None => {
                        self.at = start;
                        self.assignment_or_call()?
                    }
                }
            }
            Token::Quoted(_) => self.assignment_or_call()?,
            _ => return self.expected("a statement"),
        };
        Ok(Stmt { kind, span: self.span_from(start) })
    }

    /// The statement that a keyword begins; `None` for other words.
    fn keyword(&mut self, word: &str) -> Result<Option<StmtKind>> {
        Ok(Some(match word {
            "set_valid" => StmtKind::SetValid(self.header()?),
            "set_invalid" => StmtKind::SetInvalid(self.header()?),
            "copy" => {
                let dst = self.header()?;
                self.expect_sign("=")?;
                StmtKind::CopyHeader { dst, src: self.header()? }
            }
            "push_front" => StmtKind::PushFront(self.stack()?, self.small()?),
            "pop_front" => StmtKind::PopFront(self.stack()?, self.small()?),
            "if" => self.conditional()?,
            "switch" => self.switch()?,
            "scope" => StmtKind::Scope { label: self.small()?, body: self.braces()? },
            "leave" => StmtKind::Leave(self.small()?),
            "loop" => StmtKind::Loop { bound: self.bound()?, body: self.braces()? },
            "apply" => {
                let table = self.found("table", |s, name| s.tables.get(name).copied())?;
                let hit = if self.word("hit") { Some(self.slot()?) } else { None };
                let action_run = if self.word("action_run") { Some(self.slot()?) } else { None };
                StmtKind::Apply { table, hit, action_run }
            }
            "exit" => StmtKind::Exit,
            "extract" => StmtKind::Extract { header: self.header()?, varbit_bits: self.varbit_bits()? },
            "extract_next" => StmtKind::ExtractNext { stack: self.stack()?, varbit_bits: self.varbit_bits()? },
            "advance" => StmtKind::Advance { bits: self.expr()?, bound: self.bound()? },
            "lookahead" => {
                let total_bits = self.small()?;
                self.expect_sign("{")?;
                let parts = self.list("}", |s| {
                    let slot = s.slot()?;
                    s.expect_sign("@")?;
                    Ok((slot, s.small()?))
                })?;
                StmtKind::Lookahead { total_bits, parts }
            }
            "verify" => {
                let cond = self.expr()?;
                self.expect_word("else")?;
                StmtKind::Verify(cond, self.expr()?)
            }
            "emit" => StmtKind::Emit(self.header()?),
            _ => return Ok(None),
        }))
    }

    /// `max 12`, or nothing.
    fn bound(&mut self) -> Result<Option<u32>> {
        if self.word("max") { self.small().map(Some) } else { Ok(None) }
    }

    fn varbit_bits(&mut self) -> Result<Option<Expr>> {
        if self.word("varbit") { self.expr().map(Some) } else { Ok(None) }
    }

    fn conditional(&mut self) -> Result<StmtKind> {
        let cond = self.expr()?;
        let then = self.braces()?;
        let otherwise = if !self.word("else") {
            Vec::new()
        } else if self.is_word("if") {
            let start = self.at;
            self.at += 1;
            let kind = self.nested(Self::conditional)?;
            vec![Stmt { kind, span: self.span_from(start) }]
        } else {
            self.braces()?
        };
        Ok(StmtKind::If { cond, then, otherwise })
    }

    fn switch(&mut self) -> Result<StmtKind> {
        let value = self.expr()?;
        self.expect_sign("{")?;
        let mut cases = Vec::new();
        while self.word("case") {
            let mut values = Vec::new();
            loop {
                values.push(self.constant()?.0);
                if !self.sign(",") {
                    break;
                }
            }
            cases.push((values, self.braces()?));
        }
        self.expect_word("default")?;
        let default = self.braces()?;
        self.expect_sign("}")?;
        Ok(StmtKind::Switch { value, cases, default })
    }

    fn assignment_or_call(&mut self) -> Result<StmtKind> {
        let start = self.at;
        let name = self.name()?;
        if self.sign("=") {
            let end = self.at;
            self.at = start;
            let slot = self.slot()?;
            self.at = end;
            return Ok(StmtKind::Assign(slot, self.expr()?));
        }
        if self.is_sign("[") {
            self.at = start;
            let slot = self.slot()?;
            let (hi, lo) = self.slice()?;
            self.expect_sign("=")?;
            return Ok(StmtKind::AssignSlice { slot, hi, lo, value: self.expr()? });
        }
        let mut function = self.function(&name, start)?;
        self.expect_sign("(")?;
        let args = self.list(")", Self::argument)?;
        if let ExternFn::Named { no_side_effects, .. } = &mut function
            && self.sign("@")
        {
            self.expect_word("noSideEffects")?;
            *no_side_effects = true;
        }
        Ok(StmtKind::Extern(ExternCall { function, args, span: self.span_from(start) }))
    }

    /// The function with this name and the constants in angle brackets that follow.
    fn function(&mut self, name: &str, at: usize) -> Result<ExternFn> {
        // A method: of an object by its bare name (`counters.count`), or by its quoted name and a dot.
        let (object, method) = if self.sign(".") {
            (Some(name.to_string()), self.name()?)
        } else {
            match name.rsplit_once('.') {
                Some((object, method)) => (Some(object.to_string()), method.to_string()),
                None => (None, name.to_string()),
            }
        };
        if let Some(object) = object {
            let Some(&id) = self.externs.get(&object) else {
                return self.error_at(at, format!("there is no extern `{object}`"));
            };
            let found = ExternFn::find(&method, Some((id, &self.pipeline[id])), &[]);
            return Ok(found.unwrap_or(ExternFn::Named { instance: Some(id), name: method, no_side_effects: false }));
        }
        let in_brackets = self.sign("<");
        let constants = if in_brackets { self.list(">", Self::constant_of_call)? } else { Vec::new() };
        match ExternFn::find(&method, None, &constants) {
            Some(function) => Ok(function),
            None if in_brackets => self.error_at(at, format!("there is no `{method}` with these constants")),
            None => Ok(ExternFn::Named { instance: None, name: method, no_side_effects: false }),
        }
    }

    fn constant_of_call(&mut self) -> Result<ExternConstant> {
        match self.token() {
            Token::Number(_) => self.small().map(ExternConstant::Number),
            // A name that needs quotes looks like a text.
            Token::Quoted(_) => self.string().map(ExternConstant::Text),
            _ => self.name().map(ExternConstant::Word),
        }
    }

    fn argument(&mut self) -> Result<ExternArg> {
        if self.word("out") {
            return self.slot().map(ExternArg::Out);
        }
        if self.word("inout") {
            return self.slot().map(ExternArg::InOut);
        }
        if self.sign("{") {
            return self.list("}", Self::expr).map(ExternArg::List);
        }
        self.expr().map(ExternArg::In)
    }
}

impl Reader<'_> {
    /// `[hi:lo]`
    fn slice(&mut self) -> Result<(u32, u32)> {
        self.expect_sign("[")?;
        let at = self.at;
        let hi: u32 = self.small()?;
        self.expect_sign(":")?;
        let lo: u32 = self.small()?;
        self.expect_sign("]")?;
        if lo > hi {
            return self.error_at(at, format!("the slice [{hi}:{lo}] is empty"));
        }
        Ok((hi, lo))
    }

    fn constant(&mut self) -> Result<(BigUint, Type)> {
        if self.word("true") {
            return Ok((1u32.into(), Type::Bool));
        }
        if self.word("false") {
            return Ok((0u32.into(), Type::Bool));
        }
        if let Token::Number(text) = self.token()
            && let Some(found) = typed(text)
        {
            self.at += 1;
            return Ok(found);
        }
        self.expected("a constant with its type, such as `8w0xff`")
    }

    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.nested(|s| {
            let start = s.at;
            let mut expr = s.operand()?;
            while s.is_sign("[") {
                let (hi, lo) = s.slice()?;
                let kind = ExprKind::Slice { arg: Box::new(expr), hi, lo };
                expr = Expr { kind, ty: Type::Bits((hi - lo).saturating_add(1)), span: s.span_from(start) };
            }
            Ok(expr)
        })
    }

    fn operand(&mut self) -> Result<Expr> {
        let start = self.at;
        let (kind, ty) = match self.next() {
            Token::Sign("(") => return self.parentheses(start),
            Token::Sign("-") => self.unary(UnaryOp::Neg)?,
            Token::Sign("~") => self.unary(UnaryOp::BitNot)?,
            Token::Sign("!") => self.unary(UnaryOp::Not)?,
            Token::Word(word) if word == "packet_length" => (ExprKind::PacketLength, Type::Bits(32)),
            Token::Word(name) if name != "true" && name != "false" => self.parameter_or_slot(&name, start)?,
            Token::Quoted(name) => self.parameter_or_slot(&name, start)?,
            _ => {
                self.at = start;
                let (value, ty) = self.constant()?;
                (ExprKind::Const(value), ty)
            }
        };
        Ok(Expr { kind, ty, span: self.span_from(start) })
    }

    fn parameter_or_slot(&mut self, name: &str, at: usize) -> Result<(ExprKind, Type)> {
        if let Some(index) = self.params.iter().position(|param| param.name == name) {
            return Ok((ExprKind::Param(index as u32), self.params[index].ty));
        }
        self.at = at;
        let slot = self.slot()?;
        Ok((ExprKind::Slot(slot), self.pipeline[slot].ty))
    }

    fn unary(&mut self, op: UnaryOp) -> Result<(ExprKind, Type)> {
        let operand = self.nested(Self::operand)?;
        let ty = operand.ty;
        Ok((ExprKind::Unary(op, Box::new(operand)), ty))
    }

    /// After an opening parenthesis: a cast, an operation, or an expression.
    fn parentheses(&mut self, start: usize) -> Result<Expr> {
        if ["bit", "int", "bool", "varbit"].iter().any(|word| self.is_word(word)) {
            let ty = self.ty()?;
            self.expect_sign(")")?;
            let operand = self.nested(Self::operand)?;
            return Ok(Expr { kind: ExprKind::Cast(Box::new(operand)), ty, span: self.span_from(start) });
        }
        let left = self.expr()?;
        if self.sign(")") {
            return Ok(left);
        }
        if self.sign("?") {
            let then = self.expr()?;
            self.expect_sign(":")?;
            let otherwise = self.expr()?;
            self.expect_sign(")")?;
            let ty = then.ty;
            let kind = ExprKind::Mux(Box::new(left), Box::new(then), Box::new(otherwise));
            return Ok(Expr { kind, ty, span: self.span_from(start) });
        }
        let Token::Sign(sign) = *self.token() else { return self.expected("an operator or `)`") };
        let Some(op) = binary_operator(sign) else { return self.expected("an operator or `)`") };
        self.at += 1;
        let right = self.expr()?;
        self.expect_sign(")")?;
        use BinaryOp::*;
        let ty = match op {
            Eq | Ne | Lt | Le | Gt | Ge | LogicalAnd | LogicalOr => Type::Bool,
            Concat => {
                let width = left.ty.width().saturating_add(right.ty.width());
                if matches!(left.ty, Type::Int(_)) { Type::Int(width) } else { Type::Bits(width) }
            }
            _ => left.ty,
        };
        let kind = ExprKind::Binary(op, Box::new(left), Box::new(right));
        Ok(Expr { kind, ty, span: self.span_from(start) })
    }
}
