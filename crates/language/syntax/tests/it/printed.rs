//! What the preprocessor prints.

use std::path::PathBuf;

use hopwright_syntax::{Options, SourceMap, preprocess};

/// A folder with files, which is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Folder {
        let path = std::env::temp_dir().join(format!("hopwright-printed-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for (file, text) in files {
            std::fs::write(path.join(file), text).unwrap();
        }
        Folder(path)
    }

    /// The text of a file, preprocessed, without the folder's name in it.
    fn printed(&self, file: &str, markers: bool) -> String {
        let (text, diagnostics) = preprocess(&mut SourceMap::new(), &self.0.join(file), &Options::default(), markers);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        text.replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn markers_say_where_lines_are_from() {
    let a = "#include \"b.p4\"\n#define N 3\nconst int A = N; // c\n\n  const /* d */ int B = N-N;\n\n\n\n\n\n\n\n\n\n\nconst int C = 1;\n#include \"d.p4\"\n";
    let folder = Folder::new(
        "markers",
        &[("a.p4", a), ("b.p4", "#include \"d.p4\"\n\nconst int D = 4;\n"), ("d.p4", "#define X\n")],
    );
    let expected = "# 1 \"a.p4\"\n# 1 \"b.p4\" 1\n# 1 \"d.p4\" 1\n# 2 \"b.p4\" 2\n\nconst int D = 4;\n# 2 \"a.p4\" 2\n\nconst int A = 3;\n\n  \
                    const int B = 3-3;\n# 16 \"a.p4\"\nconst int C = 1;\n# 1 \"d.p4\" 1\n# 18 \"a.p4\" 2\n";
    assert_eq!(folder.printed("a.p4", true), expected);
    let expected = "\n\nconst int D = 4;\n\nconst int A = 3;\n\n  const int B = 3-3;\nconst int C = 1;\n";
    assert_eq!(folder.printed("a.p4", false).trim_start(), expected.trim_start());
}

#[test]
fn tokens_stay_apart() {
    let text = "#define PLUS +\n#define E\n#define F(x) x\nx = a +PLUS b F(1)F(2) E y;\nz = a >> b;\n@pragma p F(1)\nF(\n1) w;\n";
    let folder = Folder::new("apart", &[("a.p4", text)]);
    let printed = folder.printed("a.p4", false);
    assert_eq!(printed.trim_start(), "x = a + + b 1 2 y;\nz = a >> b;\n@pragma p 1\n\n1 w;\n");
}

#[test]
fn printed_text_is_printed_again() {
    let text = "#line 7 \"x.p4\"\nconst int A = 1;\n#define S \"a\\\"b\"\nconst string B = S;\n@a(\"two\n lines\") const int C = 1;\n";
    let folder = Folder::new("again", &[("a.p4", text)]);
    let printed = folder.printed("a.p4", true);
    assert!(printed.contains("# 7 \"x.p4\"\nconst int A = 1;\n"), "{printed}");
    let again = Folder::new("again2", &[("a.p4", &printed)]);
    assert_eq!(
        again.printed("a.p4", true).replacen("# 1 \"a.p4\"\n", "", 1),
        printed.replacen("# 1 \"a.p4\"\n", "", 1)
    );
}
