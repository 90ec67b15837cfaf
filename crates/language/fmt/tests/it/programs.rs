//! Programs that are generated, written and made up of pieces: formatting keeps their syntax tree, and a formatted text stays.

use std::path::Path;

use hopwright_fmt::format;
use hopwright_p4gen::{Architecture, Config, generate};
use hopwright_syntax::raw::raw_tokens;
use hopwright_syntax::{Options, SourceMap, parse_text};
use proptest::prelude::*;

/// The syntax tree of a program, without places. `folder` has its include files.
fn tree(text: &str, folder: &Path) -> String {
    let options = Options { include_paths: vec![folder.into()], ..Options::default() };
    let (program, diagnostics) = parse_text(&mut SourceMap::new(), "test.p4", text, &options);
    assert!(!diagnostics.has_errors(), "{text}");
    let debug = format!("{:?}", program.decls);
    let mut tree = String::new();
    let mut rest = debug.as_str();
    while let Some(at) = rest.find("Span {") {
        tree.push_str(&rest[..at]);
        rest = rest[at..].split_once('}').unwrap().1;
    }
    tree + rest
}

/// Replaces the white space between tokens by other white space.
fn shaken(text: &str, mut seed: u64) -> String {
    let mut shaken = String::new();
    let mut last = 0;
    for token in raw_tokens(text).unwrap() {
        let start = token.start as usize;
        let space = &text[last..start];
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let line = space.contains('\n') && text[start..].starts_with(['#', '@']) || text[..last].ends_with("*/");
        shaken.push_str(match seed >> 61 {
            _ if space.is_empty()
                || line
                || shaken.rsplit('\n').next().is_some_and(|l| l.contains("//") || l.starts_with('#')) =>
            {
                space
            }
            0 => "\n",
            1 => "\n\n\n",
            2 => "\t  ",
            3 => "\n        ",
            _ => space,
        });
        last = token.end as usize;
        shaken.push_str(&text[start..last]);
    }
    shaken + &text[last..]
}

#[test]
fn generated_programs_keep_their_meaning() {
    let here = Path::new(".");
    for seed in 0..12 {
        let program = generate(seed, &Config::thorough(Architecture::V1model)).program;
        let formatted = format(&program).unwrap();
        assert_eq!(tree(&formatted, here), tree(&program, here));
        assert_eq!(format(&formatted).unwrap(), formatted);
        let shaken = shaken(&program, seed);
        let formatted = format(&shaken).unwrap();
        assert_eq!(tree(&formatted, here), tree(&program, here), "{shaken}");
        assert_eq!(format(&formatted).unwrap(), formatted, "{shaken}");
    }
}

#[test]
fn programs_of_this_repository_keep_their_meaning() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut count = 0;
    for folder in ["examples", "tests/stf"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_none_or(|extension| extension != "p4") {
                continue;
            }
            let program = std::fs::read_to_string(&file).unwrap();
            // One has a token in two lines.
            if raw_tokens(&program).is_err() {
                continue;
            }
            let formatted = format(&program).unwrap();
            let folder = root.join(folder);
            assert_eq!(tree(&formatted, &folder), tree(&program, &folder), "{}", file.display());
            assert_eq!(format(&formatted).unwrap(), formatted, "{}", file.display());
            count += 1;
        }
    }
    assert!(count > 50);
}

const PIECES: [&str; 52] = [
    "if",
    "else",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    ":",
    "=",
    "+",
    "-",
    "x",
    "f",
    "bit",
    "8",
    "header",
    "control",
    "c",
    "apply",
    "table",
    "key",
    "actions",
    "select",
    "switch",
    "state",
    "return",
    "@",
    "name",
    "\"s\"",
    "// c\n",
    "/* d */",
    "/* e\n f */",
    "\n#if X\n",
    "\n#else\n",
    "\n#endif\n",
    "\n#if 0\n",
    "\n",
    "\n\n",
    " ",
    "  ",
    "MACRO",
    "\n@pragma p 1\n",
    "?",
    "&&",
    "!",
    ".",
    "for",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_tokens_are_formatted_or_refused(pieces in proptest::collection::vec(0..PIECES.len(), 0..60)) {
        let text = pieces.iter().map(|&i| PIECES[i]).collect::<Vec<_>>().join(" ");
        if raw_tokens(&text).is_ok() {
            let formatted = format(&text).unwrap();
            prop_assert!(format(&formatted).is_ok());
        }
    }
}
