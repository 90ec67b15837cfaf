//! The Prometheus text format, version 0.0.4: what the reference router serves.
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>

use std::fmt::{Display, Write};

/// Media type of the format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page of metrics under construction.
#[derive(Debug, Default)]
pub struct Text {
    page: String,
    family: &'static str,
}

/// Label names and values.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Text {
    /// Begins a family whose values only grow.
    pub fn counter(&mut self, name: &'static str, help: &str) {
        self.begin(name, "counter", help);
    }

    /// Begins a family of current values.
    pub fn gauge(&mut self, name: &'static str, help: &str) {
        self.begin(name, "gauge", help);
    }

    fn begin(&mut self, name: &'static str, kind: &str, help: &str) {
        self.family = name;
        // Writing to a string cannot fail.
        let _ = writeln!(self.page, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A value of the family begun last.
    pub fn sample(&mut self, labels: Labels<'_>, value: impl Display) {
        self.page.push_str(self.family);
        let mut before = '{';
        for (name, value) in labels {
            self.page.push(before);
            self.page.push_str(name);
            self.page.push_str("=\"");
            for c in value.chars() {
                match c {
                    '\\' => self.page.push_str("\\\\"),
                    '"' => self.page.push_str("\\\""),
                    '\n' => self.page.push_str("\\n"),
                    c => self.page.push(c),
                }
            }
            self.page.push('"');
            before = ',';
        }
        if !labels.is_empty() {
            self.page.push('}');
        }
        let _ = writeln!(self.page, " {value}");
    }

    /// The page.
    pub fn finish(self) -> String {
        self.page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page() {
        let mut text = Text::default();
        text.counter("a_total", "What it is.");
        text.sample(&[], 3u64);
        text.gauge("b", "Another.");
        text.sample(&[("x", "a\\b\"c\nd"), ("y", "sibling->[fd00::1]:30042")], 0.5);
        assert_eq!(
            text.finish(),
            "# HELP a_total What it is.\n# TYPE a_total counter\na_total 3\n# HELP b Another.\n# TYPE b gauge\n\
             b{x=\"a\\\\b\\\"c\\nd\",y=\"sibling->[fd00::1]:30042\"} 0.5\n"
        );
    }
}
