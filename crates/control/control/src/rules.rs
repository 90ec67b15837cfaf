//! What annotations demand of entries and actions: `@entry_restriction`, `@action_restriction` and `@refers_to`. They are read
//! from the schema when a program is set, and checked for what an update would insert or modify.

use std::collections::HashMap;

use hopwright_dataplane::EntryTarget;
use hopwright_ir::{ActionCall, ActionId, MatchForm, MatchValue, TableId};
use num_bigint::BigUint;

use crate::change::Change;
use crate::constraint::{Constraint, Entry, Fault, Subject, Subjects, position};
use crate::error::{Result, invalid};
use crate::model::{Model, Target};
use crate::references::References;
use crate::schema::{Schema, Table};
use crate::translation::{Translated, Translations};

/// The most characters of a line that an error quotes.
const MAX_QUOTE: usize = 120;

/// An annotation that a program must not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct AnnotationError(#[from] RuleError);

/// What is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RuleError {
    #[error("{owner}: @{annotation}, line {line}, column {column}: {fault}\n    {quote}")]
    Constraint { owner: String, annotation: &'static str, line: usize, column: usize, fault: Box<Fault>, quote: String },
    #[error("{owner}: @{annotation} takes strings in double quotes, and no others in them")]
    Form { owner: String, annotation: &'static str },
    #[error("{owner}: @refers_to({request}) does not name a table and its match field")]
    NoPair { owner: String, request: String },
    #[error("{owner}: @refers_to({table}, {field}): there is no table `{table}`{those}")]
    NoTable { owner: String, table: String, field: String, those: String },
    #[error("{owner}: @refers_to({table}, {field}): `{table}` has no match field `{field}`{those}")]
    NoField { owner: String, table: String, field: String, those: String },
    #[error(
        "{owner}: @referenced_by({request}): only builtin::multicast_group_table with replica.port or replica.instance \
         refers to match fields so; others have @refers_to"
    )]
    ReferencedBy { owner: String, request: String },
    #[error("{owner}: @referenced_by({request}): the field is matched as {kind}, not exactly")]
    ReferencedInexactly { owner: String, request: String, kind: String },
    #[error("{owner}: @refers_to({table}, {field}): `{field}` is matched as {kind}, not exactly")]
    Inexact { owner: String, table: String, field: String, kind: String },
}

/// The rules of a program.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    tables: HashMap<TableId, Rule>,
    actions: HashMap<ActionId, Rule>,
    pub references: References,
}

/// The constraints on a table's entries, or on an action's arguments.
#[derive(Debug)]
struct Rule {
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
    pub(crate) fn new(schema: &Schema) -> std::result::Result<Rules, RuleError> {
        let mut rules = Rules { references: References::new(schema)?, ..Rules::default() };
        for table in schema.ordered_tables() {
            let rule = Rule::of_table(table, schema)?;
            rules.tables.extend(rule.map(|rule| (table.at, rule)));
        }
        for action in schema.ordered_tables().flat_map(|t| &t.actions) {
            if !rules.actions.contains_key(&action.at) {
                let params = action.params.iter();
                let subjects = params.map(|p| subject(schema, &p.name, None, p.width, p.translated)).collect();
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

fn subject(schema: &Schema, name: &str, form: Option<MatchForm>, width: u32, translated: Option<usize>) -> Subject {
    let exact = matches!(form, None | Some(MatchForm::Value | MatchForm::ValueOrAny));
    let sdn_width = translated.map(|ty| schema.translated_types[ty].sdn_width);
    let text = translated.filter(|_| sdn_width == Some(None) && exact);
    let width = if exact { sdn_width.flatten().unwrap_or(width) } else { width };
    Subject { name: name.to_string(), form, width, text }
}

impl Rule {
    fn of_table(table: &Table, schema: &Schema) -> std::result::Result<Option<Rule>, RuleError> {
        let form = |kind: hopwright_ir::MatchKind| Some(kind.form());
        let fields = table.fields.iter();
        let subjects = fields.map(|f| subject(schema, &f.name, form(f.kind), f.width, f.translated)).collect();
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
    fn check(&self, mut values: Vec<MatchValue>, priority: i32, translations: &Translations) -> Result<()> {
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

/// What annotations of this name have in parentheses.
pub(crate) fn arguments<'a>(annotations: &'a [String], name: &'a str) -> impl Iterator<Item = &'a str> {
    annotations.iter().filter_map(move |request| {
        let rest = request.strip_prefix('@')?.strip_prefix(name)?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('(')?.strip_suffix(')') }
    })
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

impl Target {
    /// The actions that are named, not those of members.
    pub(crate) fn calls(&self) -> Vec<&ActionCall> {
        match self {
            Target::Action(call) => vec![call],
            Target::Profile(EntryTarget::Set(set)) => set.iter().map(|a| &a.action).collect(),
            Target::Profile(_) => Vec::new(),
        }
    }
}

impl Model {
    /// Checks what an update would do against the program's rules.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if an entry or action violates a constraint or refers to what is not there, `FAILED_PRECONDITION` if it
    /// removes what something refers to.
    pub(crate) fn check_rules(&self, plan: &[Change]) -> Result<()> {
        let rules = &self.schema.rules;
        if !rules.has_no_constraints() {
            plan.iter().try_for_each(|change| self.check_constraints(change))?;
        }
        if !rules.references.is_empty() {
            plan.iter().try_for_each(|change| self.check_references(change))?;
        }
        Ok(())
    }

    fn check_constraints(&self, change: &Change) -> Result<()> {
        let schema = &self.schema;
        let (rules, translations) = (&schema.rules, &self.translations);
        let check_calls = |calls: &[&ActionCall]| {
            calls.iter().try_for_each(|call| match rules.actions.get(&call.action) {
                Some(rule) => rule.check(call.args.iter().cloned().map(MatchValue::Exact).collect(), 0, translations),
                None => Ok(()),
            })
        };
        match change {
            Change::Insert((at, matches, priority), target) | Change::Modify((at, matches, priority), target) => {
                if let (Some(rule), Some(table)) = (rules.tables.get(at), schema.table_at(*at)) {
                    let values = table.fields.iter().filter_map(|f| matches.get(f.key).cloned()).collect();
                    rule.check(values, *priority, translations)?;
                }
                check_calls(&target.calls())
            }
            Change::Default(_, Some(call)) | Change::Member(_, _, Some(call)) => check_calls(&[call]),
            _ => Ok(()),
        }
    }
}
