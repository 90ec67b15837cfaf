//! Every file in `tests/diagnostics` says in comments (`//~ CODE`) which diagnostics its lines get; they and no others
//! must come. `//~^ CODE` speaks of the line above.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hopwright_sema::analyse;
use hopwright_syntax::{Options, SourceMap, parse};

use crate::marks::{Marks, marks};

fn cases() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

fn reported(file: &Path) -> Marks {
    let mut sources = SourceMap::new();
    let (program, syntax) = parse(&mut sources, file, &Options::default());
    let syntax: Vec<_> = syntax.iter().map(|d| d.message.clone()).collect();
    assert!(syntax.is_empty(), "{}: {syntax:?}", file.display());
    let analysis = analyse(&program, "case");
    assert_eq!(analysis.program.is_none(), analysis.diagnostics.has_errors());
    let mut found = Marks::new();
    for d in &analysis.diagnostics {
        let at = sources.location(d.span().expect("every diagnostic has a place"));
        assert!(at.file.ends_with(".p4"), "{}: {}", at, d.message);
        let text = sources.snippet(d.span().unwrap()).len();
        assert!(text > 0 || d.code == "E0404", "{at}: {} marks nothing", d.message);
        found.entry(at.line).or_default().push(d.code.to_string());
    }
    for codes in found.values_mut() {
        codes.sort();
    }
    found
}

#[test]
fn each_line_gets_the_diagnostics_it_says() {
    let mut wrong = Vec::new();
    for file in cases() {
        let text = std::fs::read_to_string(&file).unwrap();
        let (want, got) = (marks(&text), reported(&file));
        let lines: BTreeSet<u32> = want.keys().chain(got.keys()).copied().collect();
        for line in lines {
            let (w, g) = (want.get(&line), got.get(&line));
            if w != g {
                let source = text.lines().nth(line as usize - 1).unwrap_or("");
                wrong.push(format!("{}:{line}: want {w:?}, got {g:?}: {source}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_code_has_a_case() {
    // What is wrong with several programs together has its cases in `crates/compiler/driver/tests/it/together.rs`.
    let mut covered = BTreeSet::from(["E0462".to_string()]);
    for file in cases() {
        let text = std::fs::read_to_string(&file).unwrap();
        covered.extend(marks(&text).into_values().flatten());
    }
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut missing = BTreeSet::new();
    let mut folders = vec![src];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        for part in text.split('"') {
            let code = part.len() == 5 && part.starts_with(['E', 'W']) && part[1..].bytes().all(|b| b.is_ascii_digit());
            if code && !covered.contains(part) {
                missing.insert(part.to_string());
            }
        }
    }
    assert!(missing.is_empty(), "no case for {missing:?}");
}
