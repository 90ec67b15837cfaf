//! Diagnostics: errors, warnings and their source positions.

use hopwright_source::Span;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The program is not accepted.
    Error,
    /// The program is accepted, but something looks wrong.
    Warning,
    /// Information.
    Note,
}

/// A marked range of source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The range.
    pub span: Span,
    /// Text beside the mark; may be empty.
    pub message: String,
    /// Whether this is the position of the diagnostic, or a related one.
    pub primary: bool,
    /// An edit that does what the diagnostic's help says; of the first label only.
    pub suggestion: Option<Box<Suggestion>>,
}

/// An error, warning or note.
///
/// Codes: `E00xx` preprocessor, `E01xx` lexer and parser, `E02xx`–`E04xx` types and evaluation, `E05xx`
/// "not supported yet", `W0xxx` warnings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity of a diagnostic.
    pub severity: Severity,
    /// Stable code such as `E0102`.
    pub code: &'static str,
    /// One line that says what is wrong.
    pub message: String,
    /// Marked source ranges; the first primary one is the diagnostic's place.
    pub labels: Vec<Label>,
    /// Further explanations.
    pub notes: Vec<String>,
    /// What to do about it.
    pub help: Option<String>,
}

/// A replacement in the source text that most likely corrects the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// What is replaced; empty where text is inserted.
    pub span: Span,
    /// The text that is replaced. Where other text is at `span`, as in the use of a macro, the suggestion does not apply.
    pub old: String,
    /// The new text.
    pub new: String,
}

impl Diagnostic {
    /// A diagnostic of any severity, without labels.
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity, code, message: message.into(), labels: Vec::new(), notes: Vec::new(), help: None }
    }

    /// An error, without labels.
    pub fn error(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, message)
    }

    /// A warning, without labels.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, message)
    }

    /// Adds the position of the diagnostic.
    #[must_use]
    pub fn at(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, message: message.into(), primary: true, suggestion: None });
        self
    }

    /// Adds a related position.
    #[must_use]
    pub fn related(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, message: message.into(), primary: false, suggestion: None });
        self
    }

    /// Adds an explanation.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Says what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Adds the edit that does what the help says, to a diagnostic with a position.
    #[must_use]
    pub fn suggest(mut self, span: Span, old: impl Into<String>, new: impl Into<String>) -> Diagnostic {
        if let Some(first) = self.labels.first_mut() {
            first.suggestion = Some(Box::new(Suggestion { span, old: old.into(), new: new.into() }));
        }
        self
    }

    /// The edit that does what the help says.
    pub fn suggestion(&self) -> Option<&Suggestion> {
        self.labels.first()?.suggestion.as_deref()
    }

    /// Asks whether another name was meant, and suggests it.
    #[must_use]
    pub fn did_you_mean(self, span: Span, name: &str, near: &str) -> Diagnostic {
        self.help(format!("did you mean `{near}`?")).suggest(span, name, near)
    }

    /// The position of the diagnostic: its first primary label, else its first label.
    pub fn span(&self) -> Option<Span> {
        self.labels.iter().find(|l| l.primary).or(self.labels.first()).map(|l| l.span)
    }
}

/// Diagnostics in the order they were found.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
    errors: usize,
}

impl Diagnostics {
    /// No diagnostics.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            self.errors += 1;
        }
        self.items.push(diagnostic);
    }

    /// Adds all of `other`.
    pub fn extend(&mut self, other: Diagnostics) {
        for diagnostic in other.items {
            self.push(diagnostic);
        }
    }

    /// Number of errors.
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// Whether there is at least one error.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether there are no diagnostics.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Number of diagnostics of any severity.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// All diagnostics.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.items.iter()
    }

    /// The diagnostics up to the `most`th error, and a note with the number of omitted ones.
    #[must_use]
    pub fn first_errors(self, most: usize) -> Diagnostics {
        if self.errors <= most {
            return self;
        }
        let more = self.errors - most;
        let mut first = Diagnostics::new();
        for diagnostic in self.items {
            if first.errors == most && diagnostic.severity == Severity::Error {
                break;
            }
            first.push(diagnostic);
        }
        let message = format!("{more} more error{} not shown", if more == 1 { " is" } else { "s are" });
        first.push(Diagnostic::new(Severity::Note, "E0120", message));
        first
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.items.truncate(len);
        self.errors = self.items.iter().filter(|d| d.severity == Severity::Error).count();
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}
