//! Texts and what they are formatted as: `golden/NAME.p4` and `golden/NAME.formatted`. With `UPDATE_GOLDEN=1` the latter are written.

use std::path::{Path, PathBuf};

use hopwright_fmt::{Error, format};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden")
}

#[test]
fn golden_files_are_formatted_as_expected() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "p4") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let formatted = format(&text).unwrap();
        let expected = file.with_extension("formatted");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&expected, &formatted).unwrap();
        }
        assert_eq!(formatted, std::fs::read_to_string(&expected).unwrap(), "{}", file.display());
        assert_eq!(format(&formatted).unwrap(), formatted, "{} twice", file.display());
        count += 1;
    }
    assert!(count >= 3);
}

#[test]
fn what_is_no_text_of_tokens_is_refused_with_its_place() {
    for (text, code, start) in
        [("control c { /* x", "E0101", 12), ("const string x = \"a;", "E0101", 17), ("a $ b", "E0110", 2)]
    {
        let Err(Error::Lex(diagnostic)) = format(text) else { panic!("{text} is formatted") };
        assert_eq!((diagnostic.code, diagnostic.span().unwrap().start), (code, start), "{text}");
    }
}

#[test]
fn line_ends_and_the_byte_order_mark_stay() {
    assert_eq!(format("\u{feff}const bit<8> A=1;\r\n// c \r\n").unwrap(), "\u{feff}const bit<8> A = 1;\r\n// c\r\n");
    assert_eq!(format("").unwrap(), "");
    assert_eq!(format("\n\n").unwrap(), "");
}

#[test]
fn operators_that_would_become_others_stay_apart() {
    let text = "const bit<8> A = a + +b - -c;\nconst bool B = a < b;\nconst bit<8> C = (bit<8>) -1 >> 2;\n";
    let expected = "const bit<8> A = a + +b - -c;\nconst bool B = a < b;\nconst bit<8> C = (bit<8>)-1 >> 2;\n";
    assert_eq!(format(text).unwrap(), expected);
}
