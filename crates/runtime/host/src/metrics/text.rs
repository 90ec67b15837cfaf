//! The Prometheus text format, version 0.0.4.
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

/// Names and values of labels.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Text {
    /// Begins a family of counters.
    pub fn counter(&mut self, name: &'static str, help: &str) {
        self.begin(name, "counter", help);
    }

    /// Begins a family of gauges.
    pub fn gauge(&mut self, name: &'static str, help: &str) {
        self.begin(name, "gauge", help);
    }

    fn begin(&mut self, name: &'static str, kind: &str, help: &str) {
        self.family = name;
        // Writing to a string cannot fail.
        let _ = writeln!(self.page, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a value to the family begun last.
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

    /// Adds a count to the family begun last, unless it is 0: for families whose labels have very many values, of which few
    /// occur.
    pub fn count(&mut self, labels: Labels<'_>, count: u64) {
        if count > 0 {
            self.sample(labels, count);
        }
    }

    /// Adds a family of counters with one label.
    pub fn family(&mut self, family: &CounterFamily) {
        self.counter(family.name, family.help);
        for (value, count) in &family.values {
            self.sample(&[(family.label, value)], count);
        }
    }

    /// Adds a family of counters with one label, but for those that are 0.
    pub fn family_of_counts(&mut self, family: &CounterFamily) {
        self.counter(family.name, family.help);
        for (value, count) in &family.values {
            self.count(&[(family.label, value)], *count);
        }
    }

    /// The page.
    pub fn finish(self) -> String {
        self.page
    }
}

/// A family of counters with one label.
#[derive(Clone, Debug)]
pub struct CounterFamily {
    /// Name of the metric, `…_total`.
    pub name: &'static str,
    /// Help text.
    pub help: &'static str,
    /// Name of the label.
    pub label: &'static str,
    /// Counts by value of the label.
    pub values: Vec<(String, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page() {
        let mut text = Text::default();
        text.counter("a_total", "What it is.");
        text.sample(&[], 3u64);
        text.count(&[("x", "none")], 0);
        text.gauge("b", "Another.");
        text.sample(&[("x", "a\\b\"c\nd"), ("y", "sibling->[fd00::1]:30042")], 0.5);
        assert_eq!(
            text.finish(),
            "# HELP a_total What it is.\n# TYPE a_total counter\na_total 3\n# HELP b Another.\n# TYPE b gauge\n\
             b{x=\"a\\\\b\\\"c\\nd\",y=\"sibling->[fd00::1]:30042\"} 0.5\n"
        );
    }
}
