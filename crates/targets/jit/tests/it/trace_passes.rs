//! Passes over the trace IR: examples in files, and random trees and packets.
//!
//! A file in `crates/targets/jit/tests/traces` begins with `test` and the name of a pass, or `verify`. A tree follows, then, behind the line
//! `; output:`, what the pass makes of it, or what the verifier says, as comments. With the environment variable `UPDATE_TRACES`, the
//! output in the files is replaced by what comes out.

use std::fmt::Write;
use std::path::Path;

use hopwright_interp::Value;
use hopwright_ir::{BinaryOp, Type};
use hopwright_jit::trace_ir::eval::{self, Environment, Found, Input, Outcome};
use hopwright_jit::trace_ir::passes::Pass;
use hopwright_jit::trace_ir::text::{parse, print};
use hopwright_jit::trace_ir::values::{Op, ValueId, ValueType};
use hopwright_jit::trace_ir::verify::verify;
use hopwright_jit::trace_ir::{Effect, End, Guard, Leaf, NodeId, Place, Site, TraceIr, Verdict};
use num_bigint::BigUint;

const OUTPUT: &str = "; output:\n";

/// What a file says should come out, and what does.
fn run_file(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let (input, expected) = text.split_once(OUTPUT).unwrap_or((&text, ""));
    let (test, tree) = input.split_once('\n').unwrap_or((input, ""));
    let test = test.strip_prefix("test ").ok_or("the first line is `test` and a name")?.trim();
    // The lines of the error count from the first line of the file.
    let mut ir = parse(&format!("\n{tree}")).map_err(|e| e.to_string())?;
    let valid = verify(&ir);
    let out = match (test, valid, Pass::by_name(test)) {
        ("verify", Ok(()), _) => "valid\n".into(),
        ("verify", Err(errors), _) => errors.iter().map(|e| format!("{e}\n")).collect(),
        (_, Err(e), _) => return Err(format!("invalid: {e:?}")),
        (_, Ok(()), Some(pass)) => {
            pass.run(&mut ir);
            verify(&ir).map_err(|e| format!("invalid after {test}: {e:?}"))?;
            print(&ir, None)
        }
        (_, Ok(()), None) => return Err(format!("there is no pass `{test}`")),
    };
    let mut output = String::new();
    for line in out.lines() {
        let line = format!("; {line}");
        writeln!(output, "{}", line.trim_end()).map_err(|e| e.to_string())?;
    }
    if output == expected {
        return Ok(());
    }
    if std::env::var_os("UPDATE_TRACES").is_some() {
        return std::fs::write(path, format!("{input}{OUTPUT}{output}")).map_err(|e| e.to_string());
    }
    Err(format!("expected:\n{expected}\nfound:\n{output}"))
}

#[test]
fn trace_files_say_what_passes_do() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let failed = files.iter().filter_map(|file| Some((file.file_name()?, run_file(file).err()?)));
    let failed: Vec<String> = failed.map(|(name, error)| format!("{}: {error}", name.display())).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    for pass in Pass::ALL {
        let names = files.iter().filter_map(|file| file.file_name()?.to_str());
        assert!(names.into_iter().any(|name| name.starts_with(pass.name())), "no file describes {}", pass.name());
    }
}

/// A small generator of numbers (xorshift).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }
}

/// Bytes of the packet that trees read.
const BYTES: u64 = 12;

/// Random trees, dense with guards on few bytes of the packet, its length, the time and a default entry.
struct Trees {
    dice: Dice,
    ir: TraceIr,
}

impl Trees {
    fn tree(seed: u64) -> TraceIr {
        let mut trees = Trees { dice: Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1), ir: TraceIr::new("random") };
        let root = trees.ir.add_node("");
        trees.node(root, 0, 0);
        trees.ir
    }

    /// Fills a node; `known` bytes are known to be in the packet.
    fn node(&mut self, id: NodeId, depth: u32, mut known: u64) {
        for _ in 0..self.dice.below(7) {
            let (condition, bytes) = self.condition(known);
            let holds = bytes.is_some() || self.dice.below(3) > 0;
            known = known.max(bytes.unwrap_or(0));
            let site = Site::from(format!("guard {}", self.dice.below(100)).as_str());
            self.ir[id].guards.push(Guard { condition, holds, site });
        }
        self.ir[id].end = match self.dice.below(4) {
            0 => End::Exit { site: "an end".into() },
            1 | 2 if depth < 3 => {
                let (condition, bytes) = self.condition(known);
                let [yes, no] = [(); 2].map(|()| self.ir.add_node(""));
                self.node(yes, depth + 1, known.max(bytes.unwrap_or(0)));
                self.node(no, depth + 1, known);
                End::Branch { condition, yes, no, site: "a branch".into() }
            }
            _ => {
                let values = &mut self.ir.values;
                let (port, index) = (values.constant(depth, Type::Bits(9)), values.constant(id.0, Type::Bits(32)));
                let effects = vec![Effect::Count { counter: "leaves".into(), index }];
                let headers = if known > 0 {
                    vec![values.data(Op::Packet { base: None, bit: 0 }, Type::Bits(8))]
                } else {
                    Vec::new()
                };
                let verdict = Verdict::Forward { port, headers, payload: Place { base: None, offset: known as u32 } };
                End::Leaf(Leaf { effects, verdict })
            }
        };
    }

    /// A condition, and the number of bytes that the packet has if it holds.
    fn condition(&mut self, known: u64) -> (ValueId, Option<u64>) {
        let sort = self.dice.below(9);
        let (a, b) = (self.dice.next(), self.dice.below(4));
        let values = &mut self.ir.values;
        let compare =
            [BinaryOp::Eq, BinaryOp::Eq, BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le][a as usize % 6];
        match sort {
            0 => {
                let bytes = 1 + a % BYTES;
                let (bytes_value, length) =
                    (values.constant(bytes, Type::Bits(32)), values.data(Op::Length, Type::Bits(32)));
                (values.data(Op::Binary(BinaryOp::Le, bytes_value, length), Type::Bool), Some(bytes))
            }
            1 => {
                let now = values.data(Op::Now, Type::Bits(64));
                let number = values.constant(b, Type::Bits(64));
                (values.data(Op::Binary(compare, now, number), Type::Bool), None)
            }
            2 => {
                let entry = values.make(Op::Lookup { table: "default".into(), keys: Vec::new() }, ValueType::Entry);
                let action = if b == 0 { "other" } else { "usual" };
                (values.data(Op::Is(entry, action.into()), Type::Bool), None)
            }
            _ if known == 0 => {
                let length = values.data(Op::Length, Type::Bits(32));
                let number = values.constant(a % (2 * BYTES), Type::Bits(32));
                (values.data(Op::Binary(BinaryOp::Lt, length, number), Type::Bool), None)
            }
            3 => {
                let [number, block] = [a % 2, b % 2].map(|number| values.constant(number, Type::Bits(8)));
                let function = "mac.encrypt".into();
                let cipher = Op::Call { function, args: vec![number, block], result: 0, cipher: true };
                let (block, expected) = (values.data(cipher, Type::Bits(8)), values.constant(b, Type::Bits(8)));
                (values.data(Op::Binary(compare, block, expected), Type::Bool), None)
            }
            4 => {
                // A byte beside a constant, with any comparison and sign.
                let byte = values.data(Op::Packet { base: None, bit: 8 * (known as u32 - 1) }, Type::Bits(8));
                let (compared, ty) = match b {
                    0 => (values.data(Op::Packet { base: None, bit: 0 }, Type::Int(8)), Type::Int(8)),
                    1 => (values.data(Op::Cast(byte), Type::Bits(32)), Type::Bits(32)),
                    _ => (byte, Type::Bits(8)),
                };
                let number = values.constant([0u32, 1, 2, 0x10, 0x11, 0x7f, 0x80, 0xff][(a >> 8) as usize % 8], ty);
                let compare = [BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge]
                    [a as usize % 6];
                let (left, right) = if (a >> 16) % 3 > 0 { (compared, number) } else { (number, compared) };
                (values.data(Op::Binary(compare, left, right), Type::Bool), None)
            }
            _ => {
                // Values are small, so that some packets satisfy several guards.
                let width = [1, 3, 4, 8, 8, 16][(a >> 8) as usize % 6].min(8 * known as u32);
                let bit = ((a >> 16) % (8 * known - u64::from(width) + 1)) as u32;
                let ty = Type::Bits(width);
                let mut packet = values.data(Op::Packet { base: None, bit }, ty);
                if b == 3 {
                    let mask = values.constant(a >> 24, ty);
                    packet = values.data(Op::Binary(BinaryOp::And, packet, mask), ty);
                }
                let number = values.constant(b % 2, ty);
                (values.data(Op::Binary(compare, packet, number), Type::Bool), None)
            }
        }
    }
}

/// A default entry with the usual action.
struct Defaults;

impl Environment for Defaults {
    fn lookup(&mut self, _table: &str, _keys: &[Value]) -> Option<Found> {
        Some(Found { hit: false, action: "usual".into(), arguments: Vec::new() })
    }

    fn is_member(&mut self, _set: &str, _keys: &[Value]) -> Option<bool> {
        None
    }

    fn register(&mut self, _register: &str, _index: u64) -> Option<BigUint> {
        None
    }

    fn color(&mut self, _meter: &str, _index: Option<u64>) -> Option<u8> {
        None
    }

    fn call(&mut self, _function: &str, args: &[Value], _number: u32) -> Option<BigUint> {
        Some(args.iter().map(|arg| arg.bits.clone()).sum())
    }

    fn queue_depth(&mut self, _port: u16, _priority: u8) -> Option<u32> {
        None
    }

    fn queue_wait(&mut self, _port: u16, _priority: u8) -> Option<u32> {
        None
    }
}

#[test]
fn packets_do_the_same_after_each_pass() {
    let (mut completed, mut changed) = (0, [0; Pass::ALL.len()]);
    for seed in 1..600 {
        let before = Trees::tree(seed);
        let text = print(&before, None);
        verify(&before).unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{text}"));
        let mut dice = Dice(seed);
        for (number, pass) in Pass::ALL.into_iter().enumerate() {
            let mut after = before.clone();
            pass.run(&mut after);
            let text = format!("{}\n{text}\n{}", pass.name(), print(&after, None));
            verify(&after).unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{text}"));
            changed[number] += u32::from(after.nodes != before.nodes);
            for _ in 0..60 {
                let length = dice.below(BYTES + 4);
                let packet: Vec<u8> = (0..length).map(|_| [0, 0, 1, 0x10, 0x80][dice.below(5) as usize]).collect();
                let input = Input { packet: &packet, port: 1, now_us: 1 };
                let [was, is] = [&before, &after].map(|ir| eval::run(ir, input, &mut Defaults).unwrap());
                match (&was, &is) {
                    (Outcome::Completed { .. }, Outcome::Completed { .. }) => {
                        assert_eq!(was, is, "seed {seed}, packet {packet:x?}\n{text}");
                        completed += 1;
                    }
                    (Outcome::Left(_), Outcome::Left(_)) => {}
                    (Outcome::Completed { .. }, Outcome::Left(_)) if pass == Pass::GuardHoisting => {}
                    _ => panic!("seed {seed}: {was:?}, then {is:?}, packet {packet:x?}\n{text}"),
                }
            }
        }
    }
    assert!(completed > 1_000, "only {completed} packets completed a trace");
    for (pass, trees) in Pass::ALL.iter().zip(changed) {
        assert!(
            trees > 30,
            "{} changes only {trees} trees: `Trees::condition` makes too little of what it looks for",
            pass.name()
        );
    }
}
