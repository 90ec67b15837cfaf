//! The grammar, area by area.

use hopwright_syntax::ast::{
    AnnotationBody, DeclKind, Direction, StructKind, TablePropertyValue, Transition, TypedefTarget, find_annotation,
};

use crate::{constant, decl, parse_ok, sexpr};

/// The statements of the `apply` block of control `C` with this body.
fn body(text: &str) -> String {
    body_after("", text)
}

fn body_after(before: &str, text: &str) -> String {
    let program = parse_ok(&format!("{before}\ncontrol C() {{ apply {{ {text} }} }}"));
    match &decl(&program, "C").kind {
        DeclKind::Control(c) => {
            let stmts: Vec<String> = c.apply.stmts.iter().map(sexpr::stmt).collect();
            stmts.join(" ")
        }
        other => panic!("not a control: {other:?}"),
    }
}

fn value(text: &str) -> String {
    constant(&format!("const int X = {text};"))
}

// --- expressions -----------------------------------------------------------------------------

#[test]
fn operators_bind_as_the_specification_says() {
    assert_eq!(value("a + b * c"), "(+ a (* b c))");
    assert_eq!(value("a - b - c"), "(- (- a b) c)");
    // Unlike C: bit operators bind tighter than comparisons.
    assert_eq!(value("a & b == c"), "(== (& a b) c)");
    assert_eq!(value("a == b | c ^ d & e"), "(== a (| b (^ c (& d e))))");
    assert_eq!(value("a ++ b + c"), "(+ (++ a b) c)");
    assert_eq!(value("a << b ++ c"), "(<< a (++ b c))");
    assert_eq!(value("a & b >> c"), "(& a (>> b c))");
    assert_eq!(value("a |+| b |-| c"), "(|-| (|+| a b) c)");
    assert_eq!(value("a || b && c"), "(|| a (&& b c))");
    assert_eq!(value("a < b == c > d"), "(== (< a b) (> c d))");
    assert_eq!(value("!a.b && ~c[3] == -d"), "(&& (! (. a b)) (== (~ ([] c 3)) (- d)))");
    assert_eq!(value("a ? b : c ? d : e"), "(? a b (? c d e))");
    assert_eq!(value("a || b ? c : d"), "(? (|| a b) c d)");
    assert_eq!(value("(a + b) * c"), "(* (+ a b) c)");
}

#[test]
fn greater_signs_are_shifts_only_side_by_side() {
    assert_eq!(value("a >> b"), "(>> a b)");
    assert_eq!(value("a > b"), "(> a b)");
    assert_eq!(value("a >= b"), "(>= a b)");
    assert_eq!(body("list<tuple<bit<8>>> x;"), "(var list<tuple<bit<8>>> x)");
    assert_eq!(body("bit<(8 > 4 ? 8 : 4)> x;"), "(var bit<(? (> 8 4) 8 4)> x)");
    assert_eq!(body("x >>= 2;"), "(>>= x 2)");
}

#[test]
fn casts_are_told_from_parentheses_by_declared_types() {
    let types = "typedef bit<8> T; struct S<A> { A a; } ";
    let value = |text: &str| constant(&format!("{types} const int X = {text};"));
    assert_eq!(value("(bit<8>) a + b"), "(+ (cast bit<8> a) b)");
    assert_eq!(value("(bit<8>) a.b"), "(cast bit<8> (. a b))");
    assert_eq!(value("(T) - a"), "(cast T (- a))");
    assert_eq!(value("(t) - a"), "(- t a)");
    assert_eq!(value("(T)(bool) a"), "(cast T (cast bool a))");
    assert_eq!(value("(S<bit<8>>) { a = 1 }"), "(cast S<bit<8>> (struct a=1))");
    assert_eq!(value("(.T) a"), "(cast .T a)");
    assert_eq!(value("(T[2]) { 1, 2 }"), "(cast T[2] (list 1 2))");
    // An undeclared name followed by an operand can only be meant as a type.
    assert_eq!(value("(Unknown) a"), "(cast Unknown a)");
}

#[test]
fn type_arguments_are_told_from_comparisons() {
    let before = "extern E { E(); T f<T>(in T x); } extern void g<T, U>(in T x, in U y); \
                  typedef bit<8> B; struct P<T> { T t; } ";
    let value = |text: &str| constant(&format!("{before} const int X = {text};"));
    assert_eq!(value("a < b"), "(< a b)");
    assert_eq!(value("e.f<bit<8>>(x)"), "(call (. e f) <bit<8>> x)");
    assert_eq!(value("e.f<B>(x) < 3"), "(< (call (. e f) <B> x) 3)");
    assert_eq!(value("g<B, _>(x, y)"), "(call g <B> <_> x y)");
    assert_eq!(value("h(a < b, c > (d))"), "(call h (< a b) (> c d))");
    assert_eq!(value("h(e.f<B, B>(d))"), "(call h (call (. e f) <B> <B> d))");
    assert_eq!(value("a < (b) && c > (d)"), "(&& (< a b) (> c d))");
    assert_eq!(value("P<bit<8>>({1}).t"), "(. (new P<bit<8>> (list 1)) t)");
}

#[test]
fn primary_expressions() {
    assert_eq!(value("8w0xFF"), "8w255");
    assert_eq!(value("4s0b0111"), "4s7");
    assert_eq!(value("1_000_000"), "1000000");
    assert_eq!(value("\"a\\\"b\" ++ \"c\""), "(++ \"a\\\\\\\"b\" \"c\")");
    assert_eq!(value("true"), "true");
    assert_eq!(value(".a.b"), "(. .a b)");
    assert_eq!(value("error.NoError"), "(.T error NoError)");
    assert_eq!(value("this.f()"), "(call (. this f))");
    assert_eq!(value("{}"), "(list)");
    assert_eq!(value("{ 1, {2, 3}, }"), "(list 1 (list 2 3))");
    assert_eq!(value("{ a = 1, b = { ... }, }"), "(struct a=1 b=(list ...))");
    assert_eq!(value("{ a = 1, ... }"), "(struct a=1 ...)");
    assert_eq!(value("{ 1, ... }"), "(list 1 ...)");
    assert_eq!(value("..."), "...");
    assert_eq!(value("{#}"), "{#}");
    assert_eq!(value("a.apply().hit"), "(. (call (. a apply)) hit)");
    assert_eq!(value("f(a, b = 2, _, c = _)"), "(call f a b=2 _ c=_)");
}

#[test]
fn slices_of_both_forms() {
    assert_eq!(value("a[7:4]"), "([:] a 7 4)");
    assert_eq!(value("a[i+:4]"), "([+:] a i 4)");
    assert_eq!(value("a[i + 1 +: 4]"), "([+:] a (+ i 1) 4)");
    assert_eq!(value("a[c ? 7 : 3 : 0]"), "([:] a (? c 7 3) 0)");
    assert_eq!(value("a[3][2].b"), "(. ([] ([] a 3) 2) b)");
}

#[test]
fn types_are_looked_up_where_they_are_declared() {
    let text = "enum E { A } const int Y = E.A; \
                control C(inout bit<8> E) { apply { E.x = 1; } } const int X = E.A;";
    assert_eq!(constant(text), "(.T E A)");
}

// --- statements ------------------------------------------------------------------------------

#[test]
fn assignments_of_every_kind() {
    let operators = ["", "+", "-", "|+|", "|-|", "*", "/", "%", "&", "|", "^", "<<", ">>"];
    for op in operators {
        assert_eq!(body(&format!("a.b[1] {op}= c;")), format!("({op}= ([] (. a b) 1) c)"));
    }
    assert_eq!(body("a[3:0] = 1; a[i+:2] = 1;"), "(= ([:] a 3 0) 1) (= ([+:] a i 2) 1)");
    assert_eq!(body("(a) = 1;"), "(= a 1)");
}

#[test]
fn declarations_need_no_known_type() {
    assert_eq!(body("T x; .T y = 1;"), "(var T x) (var .T y 1)");
    assert_eq!(body("T<U>[2] x;"), "(var T<U>[2] x)");
    assert_eq!(body("T key; const int<4> apply = 1;"), "(var T key) (const int<4> apply 1)");
    assert_eq!(body("tuple<> x; varbit<(4 * 8)> y;"), "(var tuple<> x) (var varbit<(* 4 8)> y)");
    assert_eq!(body("t[1] = x; t.apply();"), "(= ([] t 1) x) (call (. t apply))");
}

#[test]
fn control_flow() {
    assert_eq!(body("if (a) b(); else if (c) ; else { exit; }"), "(if a (call b) (if c () (block (exit))))");
    assert_eq!(body("if (a) if (b) return; else return 1;"), "(if a (if b (return) (return 1)))");
    assert_eq!(
        body("switch (t.apply().action_run) { a: b: { x(); } default: { } }"),
        "(switch (. (call (. t apply)) action_run) (a fall) (b (block (call x))) (default (block)))"
    );
    assert_eq!(
        body("switch (x) { 8w1: {} E.A: (1 + 2): {} c ? 1 : 2: {} }"),
        "(switch x (8w1 (block)) ((. E A) fall) ((+ 1 2) (block)) ((? c 1 2) (block)))"
    );
}

#[test]
fn loops_of_both_forms() {
    assert_eq!(
        body("for (bit<8> i = 0, j = 1; i < 8; i += 1, f()) { break; continue; }"),
        "(for (init (var bit<8> i 0) (= j 1)) (< i 8) (step (+= i 1) (call f)) \
         (block (break) (continue)))"
    );
    assert_eq!(body("for (; c; ) x();"), "(for (init) c (step) (call x))");
    assert_eq!(body("for (bit<8> i in 0 .. 7) { }"), "(for-in bit<8> i (.. 0 7) (block))");
    assert_eq!(body("@unroll for (@a T x in hdr.stack) ;"), "(for-in T x (. hdr stack) ())");
    assert_eq!(body("for (T x in { 1, 2 }) ;"), "(for-in T x (list 1 2) ())");
}

#[test]
fn types_are_applied_directly() {
    assert_eq!(
        body_after("control D<T>(in T t);", "D.apply(1); D<bit<8>>.apply(2); D.other();"),
        "(apply D 1) (apply D<bit<8>> 2) (call (.T D other))"
    );
}

// --- declarations ----------------------------------------------------------------------------

#[test]
fn records_and_enums() {
    let program = parse_ok(
        "@a header H { @b bit<8> x; varbit<320> y; } \
         header_union U { H h; } \
         struct S<T> { T t; H[3] stack; S2<T> s; } \
         enum E { A, B, } \
         enum bit<8> F { A = 1, B = A + 1 }",
    );
    let record = |name| match &decl(&program, name).kind {
        DeclKind::Struct(s) => {
            let fields: Vec<String> = s.fields.iter().map(|f| format!("{} {}", sexpr::ty(&f.ty), f.name)).collect();
            (s.kind, s.type_params.len(), fields.join(", "))
        }
        other => panic!("not a record: {other:?}"),
    };
    assert_eq!(record("H"), (StructKind::Header, 0, "bit<8> x, varbit<320> y".into()));
    assert_eq!(record("U"), (StructKind::HeaderUnion, 0, "H h".into()));
    assert_eq!(record("S"), (StructKind::Struct, 1, "T t, H[3] stack, S2<T> s".into()));
    let members = |name| match &decl(&program, name).kind {
        DeclKind::Enum(e) => e
            .members
            .iter()
            .map(|m| match &m.value {
                Some(v) => format!("{}={}", m.name, sexpr::expr(v)),
                None => m.name.to_string(),
            })
            .collect::<Vec<_>>()
            .join(" "),
        other => panic!("not an enum: {other:?}"),
    };
    assert_eq!(members("E"), "A B");
    assert_eq!(members("F"), "A=1 B=(+ A 1)");
}

#[test]
fn type_definitions() {
    let program = parse_ok(
        "typedef bit<8> A; type bit<9> B; typedef struct S { A a; } T; typedef H[4] Stack; \
         const bit<8> type = 1;",
    );
    let target = |name| match &decl(&program, name).kind {
        DeclKind::Typedef(t) => match &t.target {
            TypedefTarget::Type(ty) => (t.is_new_type, sexpr::ty(ty)),
            TypedefTarget::Decl(d) => (t.is_new_type, format!("{}!", d.kind.name().unwrap())),
        },
        other => panic!("not a typedef: {other:?}"),
    };
    assert_eq!(target("A"), (false, "bit<8>".into()));
    assert_eq!(target("B"), (true, "bit<9>".into()));
    assert_eq!(target("T"), (false, "S!".into()));
    assert_eq!(target("Stack"), (false, "H[4]".into()));
}

#[test]
fn externs_functions_and_parameters() {
    let program = parse_ok(
        "extern E<T> { E(bit<32> n, @optional in T t); abstract void f(inout T x); \
           @pure U g<U>(out U u, bit<8> d = 5); } \
         extern later; \
         extern T id<T>(in T x); \
         extern bit<8> none(); \
         bit<8> max(in bit<8> a, in bit<8> b) { return a > b ? a : b; }",
    );
    let DeclKind::ExternObject(e) = &decl(&program, "E").kind else { panic!("not an extern") };
    let methods: Vec<_> = e
        .methods
        .iter()
        .map(|m| (m.is_constructor, m.is_abstract, m.sig.name.as_str(), sexpr::ty(&m.sig.ret), m.sig.params.len()))
        .collect();
    assert_eq!(
        methods,
        [
            (true, false, "E", "void".to_string(), 2),
            (false, true, "f", "void".to_string(), 1),
            (false, false, "g", "U".to_string(), 2),
        ]
    );
    let directions: Vec<_> = e.methods[2].sig.params.iter().map(|p| p.direction).collect();
    assert_eq!(directions, [Direction::Out, Direction::None]);
    assert!(e.methods[2].sig.params[1].default.is_some());
    assert!(find_annotation(&e.methods[0].sig.params[1].annotations, "optional").is_some());
    let DeclKind::ExternFunction(id) = &decl(&program, "id").kind else { panic!("not an extern function") };
    assert_eq!(sexpr::ty(&id.ret), "T");
    let DeclKind::Function(max) = &decl(&program, "max").kind else { panic!("not a function") };
    assert_eq!(sexpr::block(&max.body), "(block (return (? (> a b) a b)))");
}

#[test]
fn instances_with_and_without_methods() {
    let program = parse_ok(
        "package P(bool b); extern E { E(); abstract bit<8> f(in bit<8> x); } \
         @name(\"main\") P(true) main; \
         E<bit<8>>() e = { bit<8> f(in bit<8> x) { return x; } E() inner; };",
    );
    assert_eq!(decl(&program, "main").annotations[0].single_string().map(|s| &**s), Some("main"));
    let DeclKind::Instance(e) = &decl(&program, "e").kind else { panic!("not an instance") };
    assert_eq!(sexpr::ty(&e.ty), "E<bit<8>>");
    assert_eq!(e.init.as_ref().map(Vec::len), Some(2));
}

#[test]
fn parsers_with_states_and_selects() {
    let program = parse_ok(
        "parser T<H>(packet_in b, out H h); \
         parser P(packet_in b, out H h)(bool c) { \
           const bit<8> K = 1; bit<8> v; Sub() sub; value_set<tuple<bit<8>>>(4) vs; \
           state start { b.extract(h.e); sub.apply(b); if (c) { v = 1; } \
             transition select(h.t, v) { \
               (0x800, _): ip; (1 &&& 3, 2 .. 4): a; vs: b; default: accept; } } \
           @n state ip { transition select(v) { (5): a; (1 &&& 2): b; 1 + 2: c; (v): d; _: reject; } } \
           state a { transition ip; } \
           state b { } \
         }",
    );
    assert!(matches!(decl(&program, "T").kind, DeclKind::ParserType(_)));
    let DeclKind::Parser(p) = &decl(&program, "P").kind else { panic!("not a parser") };
    assert_eq!((p.locals.len(), p.states.len(), p.constructor_params.len()), (4, 4, 1));
    let cases = |state: usize| match &p.states[state].transition {
        Some(Transition::Select(s)) => {
            s.cases.iter().map(|c| format!("{}->{}", sexpr::keyset(&c.keyset), c.state)).collect::<Vec<_>>().join(" ")
        }
        other => panic!("no select: {other:?}"),
    };
    assert_eq!(cases(0), "(tuple 2048 _)->ip (tuple (&&& 1 3) (.. 2 4))->a vs->b default->accept");
    assert_eq!(cases(1), "5->a (tuple (&&& 1 2))->b (+ 1 2)->c v->d _->reject");
    assert!(matches!(&p.states[2].transition, Some(Transition::Direct(n)) if n.as_str() == "ip"));
    assert!(p.states[3].transition.is_none());
    assert_eq!(p.states[0].stmts.len(), 3);
}

#[test]
fn tables_with_every_kind_of_property() {
    let program = parse_ok(
        "control C(inout H h) { \
           action a() {} action b(in bit<8> x, bit<8> y) {} \
           @hidden table t { \
             key = { h.x : exact; h.y & 3 : ternary @name(\"y\"); f(h) : lpm; } \
             actions = { a; @defaultonly b(1); .NoAction; } \
             @e const entries = { \
               (1, 2 &&& 3, _) : a(); \
               const priority = 10: (4, 5 .. 6, default) : b(7) @note; \
               priority = (1 + 2): _ : a; } \
             const default_action = a(); \
             size = 1024; \
             implementation = action_profile(32); \
             state = 1; } \
           apply { } }",
    );
    let DeclKind::Control(c) = &decl(&program, "C").kind else { panic!("not a control") };
    let DeclKind::Table(t) = &c.locals[2].kind else { panic!("not a table") };
    let names: Vec<_> = t.properties.iter().map(|p| (p.name.as_str(), p.is_const)).collect();
    assert_eq!(
        names,
        [
            ("key", false),
            ("actions", false),
            ("entries", true),
            ("default_action", true),
            ("size", false),
            ("implementation", false),
            ("state", false)
        ]
    );
    let TablePropertyValue::Key(key) = &t.properties[0].value else { panic!("no key") };
    let key: Vec<_> = key.iter().map(|k| format!("{}:{}", sexpr::expr(&k.expr), k.match_kind)).collect();
    assert_eq!(key, ["(. h x):exact", "(& (. h y) 3):ternary", "(call f h):lpm"]);
    let TablePropertyValue::Entries(entries) = &t.properties[2].value else { panic!("no entries") };
    let entries: Vec<_> = entries
        .iter()
        .map(|e| {
            (
                e.is_const,
                e.priority.as_ref().map(sexpr::expr).unwrap_or_default(),
                sexpr::keyset(&e.keyset),
                e.action.path.name.as_str(),
            )
        })
        .collect();
    assert_eq!(
        entries,
        [
            (false, String::new(), "(tuple 1 (&&& 2 3) _)".into(), "a"),
            (true, "10".into(), "(tuple 4 (.. 5 6) default)".into(), "b"),
            (false, "(+ 1 2)".into(), "_".into(), "a"),
        ]
    );
    let TablePropertyValue::Expr(action) = &t.properties[3].value else { panic!("no default action") };
    assert_eq!(sexpr::expr(action), "(call a)");
}

#[test]
fn errors_and_match_kinds() {
    let program = parse_ok("error { A, B } match_kind { exact, lpm, } error f(in error e) { return e; }");
    assert!(matches!(&program.decls[0].kind, DeclKind::Error(names) if names.len() == 2));
    assert!(matches!(&program.decls[1].kind, DeclKind::MatchKind(names) if names.len() == 2));
    assert!(matches!(&program.decls[2].kind, DeclKind::Function(_)));
}

// --- annotations -----------------------------------------------------------------------------

#[test]
fn annotations_of_every_form() {
    let program = parse_ok(
        "@plain @empty() @str(\"x.y\") @num(0x10) @free(if (a[) { ;) @exprs(A.b, 2) @table \
         @list[1, \"two\", x] @kv[a=1, b=\"c\"] @none[] \
         @pragma old style 12\n\
         const bit<8> X = 1;",
    );
    let annotations = &decl(&program, "X").annotations;
    let find = |name| find_annotation(annotations, name).unwrap();
    assert_eq!(annotations.len(), 11);
    assert!(matches!(find("plain").body, AnnotationBody::None));
    assert_eq!(find("str").single_string().map(|s| &**s), Some("x.y"));
    assert_eq!(find("num").single_int(), Some(&16.into()));
    let free = |name| match &find(name).body {
        AnnotationBody::Unstructured { tokens, exprs } => (tokens.len(), exprs.as_ref().map(Vec::len)),
        other => panic!("structured: {other:?}"),
    };
    assert_eq!(free("empty"), (0, Some(0)));
    assert_eq!(free("free"), (7, None));
    assert_eq!(free("exprs"), (5, Some(2)));
    assert_eq!(free("old"), (2, None));
    assert!(matches!(&find("list").body, AnnotationBody::Exprs(e) if e.len() == 3));
    assert!(matches!(&find("kv").body, AnnotationBody::KeyValues(k) if k.len() == 2));
    assert!(matches!(&find("none").body, AnnotationBody::Exprs(e) if e.is_empty()));
}

// --- the tree --------------------------------------------------------------------------------

#[test]
fn spans_cover_what_was_written() {
    let text = "const bit<8> X = (a + b) * f(c)[3:0];";
    let mut sources = hopwright_syntax::SourceMap::new();
    let (program, _) = hopwright_syntax::parse_text(&mut sources, "t", text, &Default::default());
    let DeclKind::Const(c) = &decl(&program, "X").kind else { panic!("not a constant") };
    assert_eq!(sources.snippet(program.decls[0].span), text);
    assert_eq!(sources.snippet(c.ty.span), "bit<8>");
    assert_eq!(sources.snippet(c.value.span), "(a + b) * f(c)[3:0]");
    let hopwright_syntax::ast::ExprKind::Binary { left, right, .. } = &c.value.kind else { panic!("not a product") };
    assert_eq!(sources.snippet(left.span), "(a + b)");
    assert_eq!(sources.snippet(right.span), "f(c)[3:0]");
    let ids = [c.value.id, left.id, right.id, c.ty.id].map(|id| id.0);
    assert!(ids.iter().all(|&id| id < program.node_count));
    let mut unique = ids.to_vec();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len());
}

#[test]
fn the_standard_includes_are_right_in_every_version() {
    for version in ["", "#define V1MODEL_VERSION 20200408\n"] {
        let program =
            parse_ok(&format!("{version}#include <core.p4>\n#include <v1model.p4>\n#include \"v1model.p4\"\n"));
        let DeclKind::ExternObject(register) = &decl(&program, "register").kind else {
            panic!("register is not an extern")
        };
        assert_eq!(register.type_params.len(), if version.is_empty() { 1 } else { 2 });
        assert!(matches!(decl(&program, "V1Switch").kind, DeclKind::Package(_)));
    }
}
