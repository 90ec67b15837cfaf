//! Tests of a P4 program for `cargo test`, with the program and its packets as text.
//!
//! In a project of your own the function `passes` is a `#[test]`, and `Cargo.toml` has
//!
//! ```toml
//! [dev-dependencies]
//! hopwright = { path = "../hopwright/crates/apps/hopwright", default-features = false }
//! ```
//!
//! with the path of a checkout. Without its features the library has no code generator, compiles in about 90 seconds of CPU time in a
//! debug build, and runs programs in the interpreter. The program is read when the test runs, so that a changed file is compiled again.

use std::error::Error;
use std::path::Path;

use hopwright::{Entry, Runner};

/// A program with a packet test: the language of the test is that of `docs/stf.md`.
fn passes(program: &Path, test: &str) -> Result<(), Box<dyn Error>> {
    let mut runner = hopwright::compile_file(program)?.runner()?;
    let report = runner.test("test", test)?;
    for failure in &report.failures {
        eprintln!("{failure}");
    }
    assert!(report.passed(), "{} of the expectations failed", report.failures.len());
    Ok(())
}

/// The same in Rust, where a table of packets is too regular for text.
fn forwards_each_port(runner: &mut Runner) -> Result<(), Box<dyn Error>> {
    for port in 1..=4u16 {
        let address = [2, 0, 0, 0, 1, port as u8];
        runner.control().insert(&Entry::new("l2", "forward").key("dst", address).param("port", port))?;
        let packet = [&address[..], &hopwright::bytes("020000000001 0800 0000")?].concat();
        let output = runner.send(0, &packet)?;
        assert_eq!(output.sent.iter().map(|sent| sent.port).collect::<Vec<_>>(), [port]);
        assert_eq!(output.sent[0].bytes, packet);
    }
    Ok(())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let program = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/l2.p4"));
    passes(
        program,
        "
        add l2 dst:02:00:00:00:00:02 forward(port:2)
        packet 1 020000000002 020000000001 0800 cafe
        expect 2 020000000002 020000000001 0800 cafe $
        # Nobody has this address.
        packet 1 020000000003 020000000001 0800 cafe
        no_packet
        check_counter sent(2) packets == 1
        ",
    )?;
    let mut runner = hopwright::compile_file(program)?.runner()?;
    forwards_each_port(&mut runner)?;
    // What the program does with a packet, for people.
    print!("{}", runner.control().trace(0, &hopwright::bytes("020000000104 020000000001 0800 0000")?)?);
    println!("all tests passed");
    Ok(())
}
