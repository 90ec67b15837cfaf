//! Annotations of the source that P4Info carries or obeys.

use hopwright_sema::hir::{Annotation, AnnotationArg, AnnotationForm};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::error::P4InfoError;
use crate::proto::config as p4;

/// Annotations that P4Info expresses in fields of its own.
const FIELDS: [&str; 4] = ["name", "id", "brief", "description"];
/// Annotations that are lists of expressions: printed without a blank before commas.
const LISTS: [&str; 3] = ["field_list", "synchronous", "command_line"];

/// Free annotations as text, as p4c prints them: words with blanks between them. Those in `silent` are omitted.
pub(super) fn texts(annotations: &[Annotation], silent: &[&str]) -> Vec<String> {
    let request = |a: &&Annotation| !FIELDS.contains(&a.name.as_str()) && !silent.contains(&a.name.as_str());
    annotations.iter().filter(request).filter_map(text).collect()
}

fn text(annotation: &Annotation) -> Option<String> {
    let AnnotationForm::Free(words) = &annotation.form else { return None };
    let name = &annotation.name;
    Some(match words.join(" ") {
        words if words.is_empty() => format!("@{name}"),
        words if LISTS.contains(&name.as_str()) => format!("@{name}({})", words.replace(" , ", ", ")),
        words => format!("@{name}({words})"),
    })
}

/// Structured annotations.
pub(super) fn structured(annotations: &[Annotation]) -> Vec<p4::StructuredAnnotation> {
    use p4::structured_annotation::Body;
    annotations
        .iter()
        .filter_map(|a| {
            let body = match a.form {
                AnnotationForm::Free(_) => return None,
                AnnotationForm::List => {
                    Body::ExpressionList(p4::ExpressionList { expressions: a.args.iter().map(value).collect() })
                }
                AnnotationForm::KeyValues => {
                    let pair = |arg: &AnnotationArg| match arg {
                        AnnotationArg::KeyValue(key, of) => {
                            Some(p4::KeyValuePair { key: key.clone(), value: Some(value(of)) })
                        }
                        _ => None,
                    };
                    Body::KvPairList(p4::KeyValuePairList { kv_pairs: a.args.iter().filter_map(pair).collect() })
                }
            };
            Some(p4::StructuredAnnotation { name: a.name.clone(), body: Some(body), ..Default::default() })
        })
        .collect()
}

fn value(arg: &AnnotationArg) -> p4::Expression {
    use p4::expression::Value;
    let value = match arg {
        AnnotationArg::String(text) => Value::StringValue(text.clone()),
        AnnotationArg::Int(number) => match number.to_i64() {
            Some(number) => Value::Int64Value(number),
            None => Value::StringValue(number.to_string()),
        },
        AnnotationArg::Bool(flag) => Value::BoolValue(*flag),
        AnnotationArg::KeyValue(_, of) => return value(of),
    };
    p4::Expression { value: Some(value) }
}

/// `@brief` and `@description`.
pub(super) fn documentation(annotations: &[Annotation]) -> Option<p4::Documentation> {
    let text = |name| string(annotations, name).unwrap_or_default().to_string();
    let doc = p4::Documentation { brief: text("brief"), description: text("description") };
    (doc != p4::Documentation::default()).then_some(doc)
}

/// True if one of them has this name.
pub(crate) fn has(annotations: &[Annotation], name: &str) -> bool {
    annotations.iter().any(|a| a.name == name)
}

/// The number in `@id(number)`; `owner` is for messages.
///
/// # Errors
/// If it is not a number of 32 bits.
pub(super) fn id(annotations: &[Annotation], owner: &str) -> Result<Option<u32>, P4InfoError> {
    let found = Annotation::id_of(annotations).map_err(|_| P4InfoError::BadId { name: owner.to_string() })?;
    Ok(found.map(|(number, _)| number))
}

/// The number in `@name(number)`.
pub(super) fn number(annotations: &[Annotation], name: &str) -> Option<i32> {
    annotations.iter().filter(|a| a.name == name).find_map(|a| match a.args.first() {
        Some(AnnotationArg::Int(value)) => value.to_i32(),
        _ => None,
    })
}

/// The text in `@name("text")`.
pub(super) fn string<'a>(annotations: &'a [Annotation], name: &str) -> Option<&'a str> {
    Annotation::text_of(annotations, name)
}

/// The values in `@name(key = value, ...)`, also with brackets. Free annotations have words, not values: those of the
/// form `key = word`.
pub(super) fn pairs<'a>(annotations: &'a [Annotation], name: &str) -> Vec<(&'a str, AnnotationArg)> {
    let Some(annotation) = annotations.iter().find(|a| a.name == name) else { return Vec::new() };
    let AnnotationForm::Free(words) = &annotation.form else {
        let pair = |arg: &'a AnnotationArg| match arg {
            AnnotationArg::KeyValue(key, value) => Some((key.as_str(), (**value).clone())),
            _ => None,
        };
        return annotation.args.iter().filter_map(pair).collect();
    };
    words
        .split(|word| word == ",")
        .filter_map(|pair| match pair {
            [key, equals, value @ ..] if equals == "=" => {
                let text = |word: &String| word.trim_matches('"').to_string();
                let value = match value {
                    [one] if !one.starts_with('"') => AnnotationArg::Int(match one.strip_prefix("0x") {
                        Some(digits) => BigInt::parse_bytes(digits.as_bytes(), 16)?,
                        None => one.parse().ok()?,
                    }),
                    parts => AnnotationArg::String(parts.iter().filter(|p| *p != "++").map(text).collect()),
                };
                Some((key.as_str(), value))
            }
            _ => None,
        })
        .collect()
}

/// The representation of a type's values for controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Translation {
    /// Names the translation.
    pub uri: String,
    /// The width of the controller's numbers; `None` for strings.
    pub width: Option<u32>,
}

/// `@p4runtime_translation("uri", bit<W>)`, also `W` or `string`.
pub(crate) fn translation(annotations: &[Annotation]) -> Option<Translation> {
    let annotation = annotations.iter().find(|a| a.name == "p4runtime_translation")?;
    let uri = string(annotations, "p4runtime_translation").unwrap_or_default().to_string();
    let uri = if uri == "\"\"" { String::new() } else { uri };
    let number = annotation.args.iter().find_map(|arg| match arg {
        AnnotationArg::Int(value) => value.to_u32(),
        _ => None,
    });
    Some(Translation { uri, width: number })
}
