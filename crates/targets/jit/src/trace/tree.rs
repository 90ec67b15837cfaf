//! The tree of the paths in a profile, for people: where packets go, how many, and where they leave the traces.

use std::fmt::Write;

use hopwright_ir::Pipeline;

use crate::emit::point::PointPlace;
use crate::trace::mode::Path;

/// A path, the number of packets on it, and whether it has a trace.
pub(crate) struct Profiled<'a> {
    pub path: Path,
    pub places: Vec<&'a PointPlace>,
    pub packets: usize,
    pub learned: bool,
}

/// Writes the tree. Points on one line of the program are one line of the text; a branch of paths without a trace is one line, too.
pub(crate) fn text(pipeline: &Pipeline, paths: &[Profiled<'_>]) -> String {
    let mut writer = Writer { pipeline, out: String::new() };
    let all: Vec<&Profiled<'_>> = paths.iter().collect();
    writer.run(&all, 0, 0);
    writer.out
}

struct Writer<'a> {
    pipeline: &'a Pipeline,
    out: String,
}

impl Writer<'_> {
    /// Writes what the paths have in common from a point on, then the branches.
    fn run(&mut self, paths: &[&Profiled<'_>], from: usize, depth: usize) {
        let Some(first) = paths.first() else { return };
        let mut at = from;
        let mut shown = String::new();
        while let Some(point) = first.path.0.get(at) {
            if paths.iter().any(|p| p.path.0.get(at) != Some(point)) {
                break;
            }
            self.line(paths, at, depth, &mut shown);
            at += 1;
        }
        let (ended, on): (Vec<_>, Vec<_>) = paths.iter().copied().partition(|p| p.path.0.len() <= at);
        for path in ended {
            let end = if path.learned { "trace ends" } else { "no trace" };
            self.write(path.packets, depth, end);
        }
        let mut rest = on;
        while let Some(first) = rest.first() {
            let next = first.path.0[at].clone();
            let (here, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|p| p.path.0[at] == next);
            if here.iter().any(|p| p.learned) || !paths.iter().any(|p| p.learned) {
                self.run(&here, at, depth + 1);
            } else {
                let packets = here.iter().map(|p| p.packets).sum();
                let place = self.describe(here[0].places[at]);
                self.write(packets, depth + 1, &format!("side exit: goes on at {place}"));
            }
            rest = others;
        }
    }

    /// Writes a point, unless it is on the line that was written last.
    fn line(&mut self, paths: &[&Profiled<'_>], at: usize, depth: usize, shown: &mut String) {
        let text = self.describe(paths[0].places[at]);
        if text.is_empty() || *shown == text {
            return;
        }
        self.write(paths.iter().map(|p| p.packets).sum(), depth, &text);
        *shown = text;
    }

    fn write(&mut self, packets: usize, depth: usize, text: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "{packets:>8}  {:indent$}{text}", "", indent = 2 * depth);
    }

    /// File, line and the line's text.
    fn describe(&self, place: &PointPlace) -> String {
        let quoted = place.span.and_then(|span| self.pipeline.sources.quote(span));
        match (quoted.as_deref().and_then(|quoted| quoted.split_once("  ")), place.what.as_str()) {
            (None, what) => what.into(),
            (Some((at, line)), "") => format!("{at}  {line}"),
            (Some((at, line)), what) => format!("{at}  {what}: {line}"),
        }
    }
}
