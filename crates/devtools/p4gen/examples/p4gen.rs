//! Prints the program of a seed, or with a directory as second argument writes `SEED.p4` and `SEED.stf` there. With `traffic`
//! as a further one the program copies and repeats packets; with `psa` or `tna` it is for this architecture; with `thorough` it tries the order of effects and copies.

use std::process::ExitCode;

use hopwright_p4gen::{Architecture, Config};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(Ok(seed)) = args.next().map(|s| s.parse()) else {
        eprintln!("usage: p4gen SEED [DIRECTORY [traffic] [thorough] [psa | tna]]");
        return ExitCode::FAILURE;
    };
    let directory = args.next();
    let rest: Vec<String> = args.collect();
    let has = |word: &str| rest.iter().any(|a| a == word);
    let architecture = match (has("psa"), has("tna")) {
        (true, _) => Architecture::Psa,
        (_, true) => Architecture::Tna,
        _ => Architecture::V1model,
    };
    let base = if has("thorough") { Config::thorough(architecture) } else { Config::of(architecture) };
    let config = Config { traffic: has("traffic"), ..base };
    let case = hopwright_p4gen::generate(seed, &config);
    let Some(directory) = directory else {
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
