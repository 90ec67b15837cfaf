//! The report as a page with a picture of the pipeline.

use std::fmt::Write;

use super::{Cost, EngineUse, Report, WideValue};

/// Pixels of the picture.
const WIDTH: f64 = 1100.0;
const ROW: f64 = 16.0;
const LEFT: f64 = 400.0;
const AREA: f64 = 120.0;

impl Report {
    /// The report as HTML.
    pub fn html(&self) -> String {
        let mut out = String::new();
        let title = escaped(&format!("{} for {}", self.program, self.target));
        let summary = [Some(self.fit()), self.most(), Some(self.latency()), Some(self.clock())].into_iter().flatten();
        let _ = write!(
            out,
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\n<style>body{{font:14px sans-serif;max-width:\
             1140px;margin:2em auto}}td,th{{padding:1px 8px;text-align:right}}td.t,th.t{{text-align:left}}code{{font-size:12px}}</style>\n\
             <h1>{title}</h1>\n<p>{} stages, {} ns in the pipeline at {} MHz. The bus carries {} Gbit/s; {} million packets a second, \
             one every {} cycles.</p>\n<ul>\n{}</ul>\n<h2>The pipeline</h2>\n\
             <p>Engines by stage, and below the bits that each stage hands to the next.</p>\n{}",
            self.stages,
            self.latency_ns,
            self.clock_mhz,
            self.bus_gbps,
            self.mpps,
            self.gap,
            summary.map(|sentence| format!("<li>{}\n", escaped(&sentence))).collect::<String>(),
            self.picture()
        );
        let share = |cost: &Cost| 100.0 * cost.share_of(&self.capacity);
        let head = "<tr><th>of chip<th>LUT<th>FF<th>blocks<th>RAM kbit";
        let row = |cost: &Cost| {
            let kbit = cost.memory_bits.div_ceil(1000);
            format!("<tr><td>{:.1} %<td>{}<td>{}<td>{}<td>{kbit}", share(cost), cost.luts, cost.registers, cost.blocks)
        };
        let _ = write!(
            out,
            "<h2>What it takes</h2>\n<p>An estimate. The share of the chip is that of what is scarcest.</p>\n\
             <table>{head}<th class=\"t\">part<th>stages of latency\n{}<td class=\"t\">in all<td>{}\n",
            row(&self.total),
            self.stages
        );
        for kind in &self.kinds {
            let count = if kind.count > 0 { format!(": {}", kind.count) } else { String::new() };
            let stages = if kind.stages > 0 { kind.stages.to_string() } else { String::new() };
            let _ = writeln!(out, "{}<td class=\"t\">{}{count}<td>{stages}", row(&kind.cost), kind.name);
        }
        let _ = write!(
            out,
            "</table>\n<h2>By line of the program</h2>\n<p>Lines of {}, those first that take most.</p>\n<table>{head}<th class=\"t\">line\
             <th class=\"t\">text<th class=\"t\">engines\n",
            escaped(if self.folder().is_empty() { "the program" } else { self.folder() })
        );
        for line in &self.lines {
            let place = escaped(&format!("{}:{}", self.short(&line.file), line.line));
            let (text, what) = (escaped(&line.text), escaped(&line.what()));
            let _ = writeln!(
                out,
                "{}<td class=\"t\">{place}<td class=\"t\"><code>{text}</code><td class=\"t\">{what}",
                row(&line.cost)
            );
        }
        out.push_str(
            "</table>\n<h2>Why the latency is what it is</h2>\n<p>The longest way through the pipeline: each step waits for the one \
             before.</p>\n<table><tr><th>stages<th>from<th>to<th class=\"t\">what<th class=\"t\">line<th class=\"t\">text\n",
        );
        for step in self.way() {
            let _ = writeln!(
                out,
                "<tr><td>{}<td>{}<td>{}<td class=\"t\">{}<td class=\"t\">{}<td class=\"t\"><code>{}</code>",
                step.last - step.first,
                step.first,
                step.last,
                escaped(&step.what),
                escaped(self.short(&step.place)),
                escaped(&step.text)
            );
        }
        out.push_str(
            "</table>\n<h2>Why the clock is what it is</h2>\n<p>The slowest stages, with the operations in a row there:</p>\n<ul>\n",
        );
        for slow in &self.slowest {
            let _ = writeln!(out, "<li>{}", escaped(&self.slow(slow)));
        }
        let _ = write!(
            out,
            "</ul>\n<p>{}</p>\n<table><tr><th>loads<th>stage<th class=\"t\">what<th class=\"t\">line<th class=\"t\">text\n",
            self.fanout()
        );
        for WideValue { loads, stage, what, place, text } in &self.widest {
            let (what, place, text) = (escaped(what), escaped(self.short(place)), escaped(text));
            let _ = writeln!(
                out,
                "<tr><td>{loads}<td>{stage}<td class=\"t\">{what}<td class=\"t\">{place}<td class=\"t\"><code>{text}</code>"
            );
        }
        out.push_str("</table>\n</html>\n");
        out
    }

    /// The last part of an engine's name, and its place.
    fn label(&self, engine: &EngineUse) -> String {
        let (name, place) = (engine.name.rsplit('.').next().unwrap_or_default(), self.short(&engine.place));
        format!("{name}, {place}")
    }

    /// Engines as bars over the stages, and the bits between them.
    fn picture(&self) -> String {
        let scale = (WIDTH - LEFT) / f64::from(self.stages.max(1));
        let x = |stage: u32| LEFT + f64::from(stage) * scale;
        let rows = self.engines.len() as f64 * ROW;
        let (mut out, height) = (String::new(), rows + AREA + 2.0 * ROW);
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" font-size=\"11\">"
        );
        for (row, engine) in self.engines.iter().enumerate() {
            let y = row as f64 * ROW;
            let width = (x(engine.ready) - x(engine.first)).max(2.0);
            let name = escaped(&format!("{} ({})", engine.name, engine.place));
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{}\" \
                 fill=\"#4878a8\"><title>{name}: stages {}-{}</title></rect>",
                LEFT - 6.0,
                y + 12.0,
                escaped(&self.label(engine)),
                x(engine.first),
                y + 2.0,
                ROW - 4.0,
                engine.first,
                engine.ready
            );
        }
        let most = self.bits_by_stage.iter().copied().max().unwrap_or(1).max(1) as f64;
        let bottom = rows + AREA + ROW;
        let mut points = format!("{LEFT:.1},{bottom:.1}");
        for (stage, bits) in self.bits_by_stage.iter().enumerate() {
            let _ = write!(points, " {:.1},{:.1}", x(stage as u32), bottom - *bits as f64 / most * AREA);
        }
        let _ = writeln!(
            out,
            "<polygon points=\"{points} {WIDTH:.1},{bottom:.1}\" fill=\"#a8c0d8\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">up to {most} \
             bits</text><text x=\"{LEFT}\" y=\"{}\">stage 0</text><text x=\"{WIDTH}\" y=\"{}\" text-anchor=\"end\">{}</text>\n</svg>",
            LEFT - 6.0,
            bottom - AREA / 2.0,
            bottom + 12.0,
            bottom + 12.0,
            self.stages
        );
        out
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
