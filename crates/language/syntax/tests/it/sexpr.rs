//! Syntax trees as short S-expressions, so that tests can say what they expect.

use hopwright_syntax::ast::{Arg, Block, DeclKind, Expr, ExprKind, Keyset, Stmt, StmtKind, TypeExpr, TypeKind};

fn list<T>(head: &str, items: &[T], show: impl Fn(&T) -> String) -> String {
    let mut text = format!("({head}");
    for item in items {
        text.push(' ');
        text.push_str(&show(item));
    }
    text + ")"
}

fn arg(a: &Arg) -> String {
    match &a.name {
        Some(name) => format!("{name}={}", expr(&a.value)),
        None => expr(&a.value),
    }
}

pub(crate) fn expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Int(lit) => match lit.width {
            Some(w) => format!("{}{}{}", w.bits, if w.signed { 's' } else { 'w' }, lit.value),
            None => lit.value.to_string(),
        },
        ExprKind::Bool(b) => b.to_string(),
        ExprKind::String(s) => format!("{s:?}"),
        ExprKind::Path(p) => format!("{}{}", if p.leading_dot { "." } else { "" }, p.name),
        ExprKind::This => "this".into(),
        ExprKind::Dots => "...".into(),
        ExprKind::Invalid => "{#}".into(),
        ExprKind::DontCare => "_".into(),
        ExprKind::Default => "default".into(),
        ExprKind::List(items) => list("list", items, expr),
        ExprKind::Struct { fields, dots } => {
            let body = list("struct", fields, |f| format!("{}={}", f.name, expr(&f.value)));
            if dots.is_some() { body.replace(')', " ...)") } else { body }
        }
        ExprKind::Index { base, index } => format!("([] {} {})", expr(base), expr(index)),
        ExprKind::Slice { base, hi, lo } => {
            format!("([:] {} {} {})", expr(base), expr(hi), expr(lo))
        }
        ExprKind::PlusSlice { base, lo, width } => {
            format!("([+:] {} {} {})", expr(base), expr(lo), expr(width))
        }
        ExprKind::Member { base, name } => format!("(. {} {name})", expr(base)),
        ExprKind::TypeMember { ty: t, name } => format!("(.T {} {name})", ty(t)),
        ExprKind::Unary { op, operand } => format!("({} {})", op.symbol(), expr(operand)),
        ExprKind::Binary { op, left, right } => {
            format!("({} {} {})", op.symbol(), expr(left), expr(right))
        }
        ExprKind::Ternary { condition, then, otherwise } => {
            format!("(? {} {} {})", expr(condition), expr(then), expr(otherwise))
        }
        ExprKind::Cast { ty: t, operand } => format!("(cast {} {})", ty(t), expr(operand)),
        ExprKind::Call { callee, type_args, args } => {
            let mut head = format!("call {}", expr(callee));
            for t in type_args {
                head += &format!(" <{}>", ty(t));
            }
            list(&head, args, arg)
        }
        ExprKind::Construct { ty: t, args } => list(&format!("new {}", ty(t)), args, arg),
        ExprKind::Mask { value, mask } => format!("(&&& {} {})", expr(value), expr(mask)),
        ExprKind::Range { lo, hi } => format!("(.. {} {})", expr(lo), expr(hi)),
    }
}

pub(crate) fn ty(t: &TypeExpr) -> String {
    match &t.kind {
        TypeKind::Bool => "bool".into(),
        TypeKind::Error => "error".into(),
        TypeKind::MatchKind => "match_kind".into(),
        TypeKind::String => "string".into(),
        TypeKind::Void => "void".into(),
        TypeKind::DontCare => "_".into(),
        TypeKind::Int => "int".into(),
        TypeKind::Bit(None) => "bit".into(),
        TypeKind::Bit(Some(w)) => format!("bit<{}>", expr(w)),
        TypeKind::SignedInt(w) => format!("int<{}>", expr(w)),
        TypeKind::Varbit(w) => format!("varbit<{}>", expr(w)),
        TypeKind::Named(p) => format!("{}{}", if p.leading_dot { "." } else { "" }, p.name),
        TypeKind::Specialized { path, args } => {
            let args: Vec<String> = args.iter().map(ty).collect();
            format!("{}<{}>", path.name, args.join(","))
        }
        TypeKind::Array { element, size } => format!("{}[{}]", ty(element), expr(size)),
        TypeKind::Tuple(args) => {
            let args: Vec<String> = args.iter().map(ty).collect();
            format!("tuple<{}>", args.join(","))
        }
        TypeKind::List(element) => format!("list<{}>", ty(element)),
    }
}

pub(crate) fn keyset(k: &Keyset) -> String {
    if k.is_tuple { list("tuple", &k.items, expr) } else { expr(&k.items[0]) }
}

pub(crate) fn block(b: &Block) -> String {
    list("block", &b.stmts, stmt)
}

pub(crate) fn stmt(s: &Stmt) -> String {
    match &s.kind {
        StmtKind::Decl(d) => match &d.kind {
            DeclKind::Var(v) => match &v.init {
                Some(init) => format!("(var {} {} {})", ty(&v.ty), v.name, expr(init)),
                None => format!("(var {} {})", ty(&v.ty), v.name),
            },
            DeclKind::Const(c) => format!("(const {} {} {})", ty(&c.ty), c.name, expr(&c.value)),
            other => panic!("not a local declaration: {other:?}"),
        },
        StmtKind::Assign { target, op, value } => {
            let op = op.map_or("", |o| o.symbol());
            format!("({op}= {} {})", expr(target), expr(value))
        }
        StmtKind::Call(e) => expr(e),
        StmtKind::DirectApply { ty: t, args } => list(&format!("apply {}", ty(t)), args, arg),
        StmtKind::If { condition, then, otherwise } => match otherwise {
            Some(e) => format!("(if {} {} {})", expr(condition), stmt(then), stmt(e)),
            None => format!("(if {} {})", expr(condition), stmt(then)),
        },
        StmtKind::Block(b) => block(b),
        StmtKind::Empty => "()".into(),
        StmtKind::Return(None) => "(return)".into(),
        StmtKind::Return(Some(e)) => format!("(return {})", expr(e)),
        StmtKind::Exit => "(exit)".into(),
        StmtKind::Break => "(break)".into(),
        StmtKind::Continue => "(continue)".into(),
        StmtKind::Switch { subject, cases } => list(&format!("switch {}", expr(subject)), cases, |c| match &c.body {
            Some(b) => format!("({} {})", expr(&c.label), block(b)),
            None => format!("({} fall)", expr(&c.label)),
        }),
        StmtKind::For { init, condition, update, body, .. } => format!(
            "(for {} {} {} {})",
            list("init", init, stmt),
            expr(condition),
            list("step", update, stmt),
            stmt(body)
        ),
        StmtKind::ForIn { var, collection, body, .. } => match &var.kind {
            DeclKind::Var(v) => format!("(for-in {} {} {} {})", ty(&v.ty), v.name, expr(collection), stmt(body)),
            other => panic!("not a loop variable: {other:?}"),
        },
    }
}
