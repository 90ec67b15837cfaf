//! What annotations demand of entries and actions: `@entry_restriction`, `@action_restriction` and `@refers_to`. They are read
//! from the schema when a program is set, and checked for what an update would insert or modify.

use std::collections::HashMap;

use hopwright_ir::{ActionId, MatchForm, MatchValue, TableId};
use num_bigint::BigUint;

use crate::annotation::{RuleError, arguments};
use crate::constraint::{Constraint, Entry, Subject, Subjects, position};
use crate::error::{Result, invalid};
use crate::references::References;
use crate::schema::objects::Table;
use crate::translation::{Translated, TranslatedType, Translations};

/// The most characters of a line that an error quotes.
const MAX_QUOTE: usize = 120;

/// The rules of a program.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub tables: HashMap<TableId, Rule>,
    pub actions: HashMap<ActionId, Rule>,
    pub references: References,
}

/// The constraints on a table's entries, or on an action's arguments.
#[derive(Debug)]
pub(crate) struct Rule {
    /// What they are on, for messages.
    owner: String,
    annotation: &'static str,
    subjects: Vec<Subject>,
    /// The translations of the subjects' values.
    translated: Vec<Option<usize>>,
    constraints: Vec<Constraint>,
}

impl Rules {
    /// Reads the annotations of tables and actions.
    ///
    /// # Errors
    /// The first that is wrong.
    pub(crate) fn new(tables: &[&Table], types: &[TranslatedType]) -> std::result::Result<Rules, RuleError> {
        let mut rules = Rules { references: References::new(tables)?, ..Rules::default() };
        for table in tables {
            let rule = Rule::of_table(table, types)?;
            rules.tables.extend(rule.map(|rule| (table.at, rule)));
        }
        for action in tables.iter().flat_map(|t| &t.actions) {
            if !rules.actions.contains_key(&action.at) {
                let params = action.params.iter();
                let subjects = params.map(|p| subject(types, &p.name, None, p.width, p.translated)).collect();
                let translated = action.params.iter().map(|p| p.translated).collect();
                let owner = format!("action `{}`", action.name);
                let annotations = &action.annotations;
                let rule = Rule::new(owner, "action_restriction", "parameter", subjects, translated, annotations)?;
                rules.actions.extend(rule.map(|rule| (action.at, rule)));
            }
        }
        Ok(rules)
    }

    /// Whether no table or action has a constraint.
    pub(crate) fn has_no_constraints(&self) -> bool {
        self.tables.is_empty() && self.actions.is_empty()
    }
}

fn subject(
    types: &[TranslatedType],
    name: &str,
    form: Option<MatchForm>,
    width: u32,
    translated: Option<usize>,
) -> Subject {
    let exact = matches!(form, None | Some(MatchForm::Value | MatchForm::ValueOrAny));
    let sdn_width = translated.map(|ty| types[ty].sdn_width);
    let text = translated.filter(|_| sdn_width == Some(None) && exact);
    let width = if exact { sdn_width.flatten().unwrap_or(width) } else { width };
    Subject { name: name.to_string(), form, width, text }
}

impl Rule {
    fn of_table(table: &Table, types: &[TranslatedType]) -> std::result::Result<Option<Rule>, RuleError> {
        let form = |kind: hopwright_ir::MatchKind| Some(kind.form());
        let fields = table.fields.iter();
        let subjects = fields.map(|f| subject(types, &f.name, form(f.kind), f.width, f.translated)).collect();
        let translated = table.fields.iter().map(|f| f.translated).collect();
        let owner = format!("table `{}`", table.name);
        Rule::new(owner, "entry_restriction", "match field", subjects, translated, &table.annotations)
    }

    fn new(
        owner: String,
        annotation: &'static str,
        what: &'static str,
        subjects: Vec<Subject>,
        translated: Vec<Option<usize>>,
        annotations: &[String],
    ) -> std::result::Result<Option<Rule>, RuleError> {
        let mut constraints = Vec::new();
        for request in arguments(annotations, annotation) {
            let text = strings(request).ok_or_else(|| RuleError::Form { owner: owner.clone(), annotation })?;
            let named = Subjects { what, all: &subjects, priority: what == "match field" };
            constraints.push(Constraint::parse(&text, named).map_err(|misread| {
                let (line, column) = position(&text, misread.at);
                let quote = text.lines().nth(line - 1).unwrap_or_default().trim().chars().take(MAX_QUOTE).collect();
                let fault = Box::new(misread.fault);
                RuleError::Constraint { owner: owner.clone(), annotation, line, column, fault, quote }
            })?);
        }
        Ok((!constraints.is_empty()).then_some(Rule { owner, annotation, subjects, translated, constraints }))
    }

    /// Checks values of the data plane, one for each subject.
    pub(crate) fn check(&self, mut values: Vec<MatchValue>, priority: i32, translations: &Translations) -> Result<()> {
        let place = |ty| Translated { ty, whole: true, name: "" };
        for ((value, subject), ty) in values.iter_mut().zip(&self.subjects).zip(&self.translated) {
            if let (Some(ty), None) = (*ty, subject.text)
                && let MatchValue::Exact(value) | MatchValue::Optional(Some(value)) = value
            {
                *value = BigUint::from_bytes_be(&translations.show(place(ty), value));
            }
        }
        let find = |ty, text: &str| translations.find(place(ty), text.as_bytes()).ok().flatten();
        let entry = Entry { values: &values, priority, find: &find };
        for constraint in &self.constraints {
            let Some((part, subjects)) = constraint.violated(&entry) else { continue };
            let shown = subjects.into_iter().map(|at| {
                let subject = &self.subjects[at];
                format!("{} = {}", subject.name, text_of(&values[at], subject, translations))
            });
            let shown = shown.collect::<Vec<_>>().join(", ");
            let with = if shown.is_empty() { shown } else { format!(" with {shown}") };
            let whole = constraint.text();
            let whole = if whole == part { String::new() } else { format!("; all of it: {whole}") };
            return Err(invalid(format!(
                "{}: @{} forbids this: `{part}` is false{with}{whole}",
                self.owner, self.annotation
            )));
        }
        Ok(())
    }
}

fn text_of(value: &MatchValue, subject: &Subject, translations: &Translations) -> String {
    let number = |value: &BigUint| match subject.text {
        Some(ty) => format!("{} ({value:#x})", translations.text(ty, value)),
        None => format!("{value:#x}"),
    };
    match value {
        MatchValue::Exact(value) | MatchValue::Optional(Some(value)) => number(value),
        MatchValue::Lpm { value, prefix_len } => format!("{value:#x}/{prefix_len}"),
        MatchValue::Ternary { value, mask } => format!("{value:#x} &&& {mask:#x}"),
        MatchValue::Range { lo, hi } => format!("{lo:#x}..{hi:#x}"),
        MatchValue::Optional(None) => "anything".into(),
    }
}

/// The lines of strings in double quotes with nothing between them.
fn strings(request: &str) -> Option<String> {
    let mut parts = request.split('"');
    let mut lines = Vec::new();
    loop {
        if !parts.next()?.trim().is_empty() {
            return None;
        }
        match parts.next() {
            Some(line) => lines.push(line),
            None if lines.is_empty() => return None,
            None => return Some(lines.join("\n")),
        }
    }
}
