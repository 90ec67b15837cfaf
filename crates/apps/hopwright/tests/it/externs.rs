//! Extern types in Rust.

use std::sync::Mutex;

use hopwright::{BuildError, Compiler, Engine, ExternObject};

use crate::{program, sent};

const DECLARATION: &str =
    "extern Sum { Sum(bit<16> start); void add(in bit<8> value); bit<130> total(out bit<16> low); }\n";
const BODY: &str = "
    bit<130> wide;
    sum.add(h.frame.kind);
    wide = sum.total(h.frame.value);
    if (wide[129:128] == 3) { s.egress_spec = 1; } else { s.egress_spec = 2; }
";

fn text() -> String {
    program("Sum(0x100) sum;", BODY).replace("header frame_t", &format!("{DECLARATION} header frame_t"))
}

/// A sum, and more bits than the result has.
#[derive(Debug)]
struct Sum(Mutex<u64>);

impl ExternObject for Sum {
    fn methods(&self) -> &'static [&'static str] {
        &["total", "add"]
    }

    fn arguments(&self, method: usize) -> &'static [u32] {
        if method == 0 { &[16, 130] } else { &[8] }
    }

    fn call(&self, method: usize, words: &mut [u64]) {
        let mut sum = self.0.lock().unwrap();
        match (method, words) {
            (0, [low, wide @ ..]) => {
                *low = *sum;
                assert_eq!(wide.len(), 3);
                wide.fill(u64::MAX);
            }
            (_, [value]) => *sum += *value,
            (_, words) => panic!("{} words", words.len()),
        }
    }
}

fn engines() -> Vec<Engine> {
    let mut engines = vec![Engine::Interpreter];
    if cfg!(feature = "jit") {
        engines.push(Engine::Jit);
    }
    engines
}

#[test]
fn both_engines_call_an_object() {
    let compiler =
        Compiler::new().extern_type("Sum", |arguments| Ok(Sum(Mutex::new(u64::try_from(&arguments[0]).unwrap()))));
    let program = compiler.compile(&text()).unwrap();
    for engine in engines() {
        let mut runner = program.runner_with(engine).unwrap();
        assert_eq!(sent(&runner.send(0, &[1, 0, 0]).unwrap()), [(1, vec![1, 1, 1])], "{engine:?}");
        assert_eq!(sent(&runner.send(0, &[0xff, 0, 0]).unwrap()), [(1, vec![0xff, 2, 0])], "{engine:?}");
        // Each runner has objects of its own.
        assert_eq!(sent(&program.runner_with(engine).unwrap().send(0, &[2, 0, 0]).unwrap()), [(1, vec![2, 1, 2])]);
    }
}

#[test]
fn a_type_without_implementation_or_with_another_shape_is_refused() {
    let none = hopwright::compile(&text()).unwrap().runner().unwrap_err();
    assert!(matches!(&none, BuildError::Program(text) if text.contains("`Sum`")), "{none}");
    let constructor = Compiler::new().extern_type("Sum", |_| Err::<Sum, _>("no sum today".to_string()));
    let refused = constructor.compile(&text()).unwrap().runner().unwrap_err();
    assert!(refused.to_string().contains("no sum today"), "{refused}");
    if cfg!(feature = "jit") {
        let other = text().replace("in bit<8> value", "in bit<16> value").replace("h.frame.kind);", "h.frame.value);");
        let compiler = Compiler::new().extern_type("Sum", |_| Ok(Sum(Mutex::new(0))));
        let refused = compiler.compile(&other).unwrap().runner_with(Engine::Jit).unwrap_err();
        assert!(matches!(&refused, BuildError::Program(text) if text.contains("`add`")), "{refused}");
    }
}

#[test]
fn machine_code_needs_its_feature() {
    let started = hopwright::compile(crate::L2).unwrap().runner_with(Engine::Jit);
    assert_eq!(started.is_ok(), cfg!(feature = "jit"));
    assert!(matches!(started, Ok(_) | Err(BuildError::NoMachineCode)));
}

#[test]
fn objects_that_do_not_fit_their_calls_are_refused() {
    let compiler = Compiler::new().extern_type("Sum", |_| Ok(Sum(Mutex::new(0))));
    let refused = |declaration: &str, body: &str| {
        let text = program("Sum(0x100) sum;", body).replace("header frame_t", &format!("{declaration} header frame_t"));
        let program = compiler.compile(&text).unwrap();
        for engine in engines() {
            assert!(program.runner_with(engine).is_err(), "{engine:?}");
        }
        program.runner().unwrap_err().to_string()
    };
    let wider = refused("extern Sum { Sum(bit<16> start); void add(in bit<16> value); }\n", "sum.add(h.frame.value);");
    assert!(wider.contains("`add` takes arguments of [8] bits, and the program calls it with [16]"), "{wider}");
    let unknown = refused("extern Sum { Sum(bit<16> start); void sub(in bit<8> value); }\n", "sum.sub(h.frame.kind);");
    assert!(unknown.contains("method `sub` is not supported"), "{unknown}");
}
