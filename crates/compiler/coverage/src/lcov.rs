//! lcov's trace files: geninfo(1), "TRACEFILE FORMAT".

use std::fmt::Write as _;
use std::path::Path;

use crate::Report;

impl Report {
    /// A trace file, as `lcov` and `genhtml` read it. Parser states and actions are functions; the outcomes of branches, selects and tables
    /// are branches. Files that exist have absolute names.
    pub fn to_lcov(&self) -> String {
        let mut text = String::from("TN:\n");
        for file in &self.files {
            let absolute = Path::new(&file.name).canonicalize();
            let name = absolute.map_or_else(|_| file.name.clone(), |path| path.display().to_string());
            let _ = writeln!(text, "SF:{}", one_line(&name));
            for (line, name, _) in &file.functions {
                let _ = writeln!(text, "FN:{line},{}", one_line(name));
            }
            for (_, name, count) in &file.functions {
                let _ = writeln!(text, "FNDA:{count},{}", one_line(name));
            }
            let hit = file.functions.iter().filter(|(.., count)| *count > 0).count();
            let _ = writeln!(text, "FNF:{}\nFNH:{hit}", file.functions.len());
            let mut number = 0;
            for (at, branch) in file.branches.iter().enumerate() {
                let same = at > 0 && file.branches[at - 1].decision == branch.decision;
                number = if same { number + 1 } else { 0 };
                let count = branch.count.map_or("-".into(), |count| count.to_string());
                let _ = writeln!(text, "BRDA:{},{},{number},{count}", branch.line, branch.decision);
            }
            let taken = file.branches.iter().filter(|branch| branch.count.unwrap_or(0) > 0).count();
            let _ = writeln!(text, "BRF:{}\nBRH:{taken}", file.branches.len());
            // A branch belongs to a line that has a count.
            let mut lines = file.lines.clone();
            for branch in &file.branches {
                let line = lines.entry(branch.line).or_default();
                *line = branch.count.unwrap_or(0).max(*line);
            }
            for (line, count) in &lines {
                let _ = writeln!(text, "DA:{line},{count}");
            }
            let hit = lines.values().filter(|count| **count > 0).count();
            let _ = writeln!(text, "LF:{}\nLH:{hit}\nend_of_record", lines.len());
        }
        text
    }
}

/// A name as part of a line: names of files may have any character.
fn one_line(name: &str) -> String {
    name.replace(['\n', '\r'], "?")
}
