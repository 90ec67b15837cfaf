//! Prints what a P4 program becomes: `cargo run --example assembly -- FILE.p4 [clif|asm|ir]`.

use hopwright_driver::compile_file;
use hopwright_jit::{Options, compile};

fn main() -> std::process::ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(file) = args.next() else {
        eprintln!("usage: assembly FILE.p4 [clif|asm]");
        return 2.into();
    };
    let compiled = compile_file(file.as_ref(), &Default::default(), true);
    let Some(pipeline) = compiled.pipeline else {
        eprint!("{}", compiled.report(false));
        return 1.into();
    };
    match compile(&pipeline, &Options { keep_text: true }) {
        Ok(code) => {
            match args.next().as_deref() {
                Some("clif") => println!("{}", code.clif().unwrap_or("")),
                Some("asm") => println!("{}", code.disassembly().unwrap_or("")),
                _ => {}
            }
            eprintln!("{} bytes in {:?}", code.code().len(), code.compile_time());
            0.into()
        }
        Err(e) => {
            let place = pipeline.sources.location(e.span);
            eprintln!("{place:?}: {e}");
            1.into()
        }
    }
}
