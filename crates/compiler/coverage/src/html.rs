//! A page with the source beside the counts. It has no script, and everything from the program is escaped.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::{Branch, Entry, File, Report};

const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><title>P4 coverage</title>
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">
<style>
body { font-family: sans-serif; margin: 1.5em; color: #222; background: #fff; }
table { border-collapse: collapse; }
td, th { padding: 0 .6em; text-align: left; vertical-align: top; }
td.n { text-align: right; color: #666; font-variant-numeric: tabular-nums; }
td.s { white-space: pre; font-family: monospace; }
tr.hit td.s { background: #e6f4e6; } tr.part td.s { background: #fdf3cf; } tr.miss td.s { background: #fbdcdc; }
ul, details { margin: .1em 0; padding-left: 1.2em; font-size: 85%; } li.no { color: #a00; } li.yes { color: #070; }
</style></head><body>
<h1>P4 coverage</h1>
";

/// Text in HTML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

impl Report {
    /// One page: totals, then each file with its counts. Colours: reached, reached with outcomes missing, not reached.
    pub fn to_html(&self) -> String {
        let mut page = String::from(HEAD);
        page.push_str("<table><tr><th>kind</th><th>reached</th><th>all</th><th>%</th></tr>\n");
        for total in self.totals.iter().filter(|total| total.all > 0) {
            let percent = 100.0 * total.reached as f64 / total.all as f64;
            let _ = writeln!(
                page,
                "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{percent:.1}</td></tr>",
                total.kind, total.reached, total.all
            );
        }
        page.push_str("</table>\n");
        for file in &self.files {
            source(&mut page, file, &self.entries);
        }
        page.push_str("</body></html>\n");
        page
    }
}

fn source(page: &mut String, file: &File, entries: &[Entry]) {
    let _ = writeln!(page, "<h2>{}</h2>\n<table>", escaped(&file.name));
    let mut branches: BTreeMap<u32, Vec<&Branch>> = BTreeMap::new();
    for branch in &file.branches {
        branches.entry(branch.line).or_default().push(branch);
    }
    let text = file.text.as_deref().unwrap_or_default();
    let known: BTreeMap<u32, &str> = (1..).zip(text.lines()).collect();
    // Without the text, the lines that have counts.
    let last = known.len() as u32;
    let beyond = file.lines.keys().chain(branches.keys()).copied().filter(|line| *line > last);
    let mut numbers: Vec<u32> = known.keys().copied().chain(beyond).collect();
    numbers.sort_unstable();
    numbers.dedup();
    for number in numbers {
        let outcomes = branches.get(&number).map_or(&[][..], Vec::as_slice);
        let count = file.lines.get(&number);
        let missing = outcomes.iter().any(|branch| branch.count.unwrap_or(0) == 0);
        let reached = count.is_some_and(|count| *count > 0) || outcomes.iter().any(|b| b.count.unwrap_or(0) > 0);
        let class = match (count.is_some() || !outcomes.is_empty(), reached, missing) {
            (false, ..) => "",
            (true, false, _) => "miss",
            (true, true, true) => "part",
            (true, true, false) => "hit",
        };
        let count = count.map_or(String::new(), u64::to_string);
        let line = escaped(known.get(&number).copied().unwrap_or_default());
        let _ = write!(
            page,
            "<tr class=\"{class}\"><td class=\"n\">{number}</td><td class=\"n\">{count}</td><td class=\"s\">{line}"
        );
        if !outcomes.is_empty() {
            page.push_str("<ul>");
            for branch in outcomes {
                let count = branch.count.unwrap_or(0);
                let class = if count > 0 { "yes" } else { "no" };
                let _ = write!(page, "<li class=\"{class}\">{count} &times; {}</li>", escaped(&branch.label));
            }
            page.push_str("</ul>");
        }
        let of_line = |entry: &&Entry| entry.line == number && entry.file == file.name;
        list_entries(page, &entries.iter().filter(of_line).collect::<Vec<_>>());
        page.push_str("</td></tr>\n");
    }
    page.push_str("</table>\n");
}

/// The entries of the tables in a line.
fn list_entries(page: &mut String, entries: &[&Entry]) {
    if entries.is_empty() {
        return;
    }
    let hit = entries.iter().filter(|entry| entry.count > 0).count();
    let _ = write!(page, "<details><summary>{hit} of {} entries are hit</summary><ul>", entries.len());
    for entry in entries {
        let class = if entry.count > 0 { "yes" } else { "no" };
        let label = escaped(&entry.label);
        let _ = write!(page, "<li class=\"{class}\">{} &times; {}: {label}</li>", entry.count, escaped(&entry.table));
    }
    page.push_str("</ul></details>");
}
