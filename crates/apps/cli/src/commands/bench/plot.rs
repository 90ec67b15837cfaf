//! Figures as a picture: a bar for each, with a mark where the floor is.

use std::fmt::Write as _;
use std::path::Path;

use crate::failure::Failure;

/// A bar.
pub(super) struct Bar {
    pub label: String,
    /// Nanoseconds of a packet.
    pub ns: f64,
    /// The lowest that it could be.
    pub floor_ns: f64,
}

/// Pixels.
const LABELS: f64 = 260.0;
const BARS: f64 = 460.0;
const HEIGHT: f64 = 20.0;
const MARGIN: f64 = 20.0;

/// Draws bars, if somebody wants a picture.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(file: Option<&Path>, title: &str, bars: impl Iterator<Item = Bar>) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    std::fs::write(file, draw(title, &bars.collect::<Vec<_>>()))
        .map_err(|e| Failure::message(format!("{}: {e}", file.display())))
}

fn draw(title: &str, bars: &[Bar]) -> String {
    let longest = bars.iter().map(|bar| bar.ns).fold(1.0, f64::max);
    let (width, height) = (LABELS + BARS + 80.0, 3.0 * MARGIN + HEIGHT * bars.len() as f64);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{MARGIN}\" \
         y=\"{}\" font-size=\"14\" font-weight=\"bold\">{title}</text>",
        MARGIN + 4.0
    );
    for (row, Bar { label, ns, floor_ns }) in bars.iter().enumerate() {
        let (y, length) = (2.0 * MARGIN + HEIGHT * row as f64, BARS * ns / longest);
        let (middle, floor) = (y + HEIGHT * 0.65, LABELS + BARS * floor_ns / longest);
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{label}</text><rect x=\"{LABELS}\" y=\"{:.1}\" width=\"{length:.1}\" \
             height=\"{:.1}\" fill=\"#dbe9f6\" stroke=\"#444\"/><path d=\"M{floor:.1} {y:.1}v{HEIGHT}\" stroke=\"#b42318\"/>\
             <text x=\"{:.1}\" y=\"{middle:.1}\">{ns:.1} ns</text>",
            LABELS - 8.0,
            y + 3.0,
            HEIGHT - 6.0,
            LABELS + length + 6.0
        );
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_figures() {
        let bar = |label: &str, ns| Bar { label: label.into(), ns, floor_ns: 1.0 };
        let svg = draw("ns a packet", &[bar("l2", 10.0), bar("acl", 40.0)]);
        assert!(svg.contains(">l2</text>") && svg.contains("10.0 ns") && svg.contains("40.0 ns"), "{svg}");
        assert!(svg.contains("width=\"115.0\"") && svg.contains("width=\"460.0\""), "{svg}");
    }
}
