//! Annotations of the source that P4Info carries or obeys.

use hopwright_sema::hir::{Annotation, AnnotationArg};
use hopwright_syntax::SourceMap;
use num_traits::ToPrimitive;

/// Annotations that P4Info expresses otherwise, or that are no business of a controller.
const SILENT: [&str; 10] = [
    "name",
    "id",
    "hidden",
    "brief",
    "description",
    "p4runtime_translation",
    "tableonly",
    "defaultonly",
    "match",
    "optional",
];

/// Reads annotations, whose text is in the sources.
#[derive(Clone, Copy)]
pub struct Annotations<'p> {
    pub sources: &'p SourceMap,
}

impl Annotations<'_> {
    /// As they are written, without those that P4Info says in another way.
    pub fn texts(&self, annotations: &[Annotation]) -> Vec<String> {
        annotations.iter().filter(|a| !SILENT.contains(&a.name.as_str())).map(|a| self.text(a)).collect()
    }

    fn text(&self, annotation: &Annotation) -> String {
        let text = self.sources.snippet(annotation.span);
        if text.starts_with('@') { text.to_string() } else { format!("@{}", annotation.name) }
    }
}

/// True if one of them has this name.
pub fn has(annotations: &[Annotation], name: &str) -> bool {
    annotations.iter().any(|a| a.name == name)
}

/// The number in `@name(number)`.
pub fn number(annotations: &[Annotation], name: &str) -> Option<u32> {
    annotations.iter().filter(|a| a.name == name).find_map(|a| match a.args.first() {
        Some(AnnotationArg::Int(value)) => value.to_u32(),
        _ => None,
    })
}

/// The text in `@name("text")`.
pub fn string<'a>(annotations: &'a [Annotation], name: &str) -> Option<&'a str> {
    annotations.iter().filter(|a| a.name == name).find_map(|a| match a.args.first() {
        Some(AnnotationArg::String(value)) => Some(value.as_str()),
        _ => None,
    })
}
