//! The estimate as a picture: a column for each stage, bars for its resources above what lies in it.

use std::fmt::Write;

use crate::estimate::{Estimate, Item};

const COLUMN: usize = 190;
const LINE: usize = 14;
const MARGIN: usize = 150;
const TOP: usize = 60;
/// Characters that go into a column.
const CHARACTERS: usize = 30;

impl Estimate {
    /// A picture of the stages, as SVG.
    pub fn to_svg(&self) -> String {
        let bars = self.limits.fields().len() + 1;
        let table_top = TOP + bars * LINE + 2 * LINE;
        let rows = self.stages.iter().map(|s| s.items.len()).max().unwrap_or(0);
        let columns = self.stages.len().max(self.available as usize);
        let (width, height) = (MARGIN + columns * COLUMN + 20, table_top + (rows + 3) * LINE + 20);
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
        );
        text(&mut out, 20, 24, "#000", 14, &self.verdict());
        for (row, (name, _)) in self.limits.fields().into_iter().enumerate() {
            text(&mut out, 20, TOP + row * LINE + 10, "#000", 10, name);
        }
        text(&mut out, 20, TOP + (bars - 1) * LINE + 10, "#000", 10, "header vector bits");
        for (i, stage) in self.stages.iter().enumerate() {
            let x = MARGIN + i * COLUMN;
            let beyond = i >= self.available as usize;
            let fill = if beyond { "#fbe3e0" } else { "#f4f4f4" };
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"/>",
                TOP - 16,
                COLUMN - 8,
                height - TOP
            );
            text(&mut out, x + 4, TOP - 5, "#000", 11, &format!("stage {i}"));
            let limits = self.limits.fields().into_iter().map(|l| l.1).chain([self.phv_available]);
            let used = stage.used.fields().into_iter().map(|u| u.1).chain([stage.phv_bits]);
            for (row, (used, limit)) in used.zip(limits).enumerate() {
                let full = COLUMN - 60;
                let bar = (used as usize * full / limit.max(1) as usize).min(full);
                let colour = if used > limit { "#d9534f" } else { "#7fb2d9" };
                let y = TOP + row * LINE;
                let _ = writeln!(
                    out,
                    "<rect x=\"{}\" y=\"{y}\" width=\"{bar}\" height=\"{}\" fill=\"{colour}\"/>",
                    x + 4,
                    LINE - 3
                );
                text(&mut out, x + full + 10, y + 10, "#444", 9, &format!("{used}/{limit}"));
            }
            for (row, item) in stage.items.iter().enumerate() {
                entry(&mut out, x, table_top + row * LINE, item, on_chain(self, item));
            }
        }
        let below = height - 2 * LINE;
        text(
            &mut out,
            20,
            below,
            "#b03a2e",
            10,
            "red: on the longest chain of dependencies; green: tables of ingress; blue: of egress",
        );
        out.push_str("</svg>\n");
        out
    }
}

fn on_chain(e: &Estimate, item: &Item) -> bool {
    e.chain.iter().any(|link| (&link.item.name, &link.item.place) == (&item.name, &item.place))
}

fn entry(out: &mut String, x: usize, y: usize, item: &Item, on_chain: bool) {
    let fill = match (item.table, item.thread) {
        (false, _) => "#ffffff",
        (true, "ingress") => "#d9f0d9",
        (true, _) => "#dbe9f6",
    };
    let (stroke, colour) = if on_chain { ("#b03a2e", "#b03a2e") } else { ("#cccccc", "#000") };
    let _ = writeln!(
        out,
        "<g><title>{}:{}: {}</title><rect x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{fill}\" stroke=\"{stroke}\"/>",
        escaped(&item.place.file),
        item.place.line,
        escaped(&item.name),
        x + 4,
        COLUMN - 16,
        LINE - 2
    );
    // Of a table's name, the end tells most; of an operation, the beginning.
    let count = item.name.chars().count();
    let shown: String = match count.checked_sub(CHARACTERS) {
        None | Some(0) => item.name.clone(),
        Some(more) if item.table => format!("…{}", item.name.chars().skip(more + 1).collect::<String>()),
        Some(_) => format!("{}…", item.name.chars().take(CHARACTERS - 1).collect::<String>()),
    };
    text(out, x + 8, y + 9, colour, 9, &shown);
    out.push_str("</g>\n");
}

fn text(out: &mut String, x: usize, y: usize, colour: &str, size: usize, text: &str) {
    let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\" font-size=\"{size}\">{}</text>", escaped(text));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
