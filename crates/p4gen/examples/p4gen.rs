//! Prints the program of a seed, or with a directory as second argument writes `SEED.p4` and `SEED.stf` there.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(Ok(seed)) = args.next().map(|s| s.parse()) else {
        eprintln!("usage: p4gen SEED [DIRECTORY]");
        return ExitCode::FAILURE;
    };
    let case = hopwright_p4gen::generate(seed, &Default::default());
    let Some(directory) = args.next() else {
        print!("{}", case.program);
        return ExitCode::SUCCESS;
    };
    let path = |ext: &str| std::path::Path::new(&directory).join(format!("{seed}.{ext}"));
    let written = std::fs::write(path("p4"), &case.program).and_then(|()| std::fs::write(path("stf"), case.stf()));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("p4gen: {error}");
            ExitCode::FAILURE
        }
    }
}
