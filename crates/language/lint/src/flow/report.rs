//! Collects the reads that were found, and words the warnings once all paths are known.

use std::collections::BTreeMap;

use hopwright_source::Span;
use hopwright_syntax::diagnostic::Diagnostic;

use super::state::ParserPath;

/// How a statement uses a header or variable, on all paths that reach it.
#[derive(Default)]
struct Visits {
    /// The first problem.
    found: Option<Found>,
    /// It was fine on some path.
    good: bool,
    /// It was wrong on a path that nothing rules out.
    bad: bool,
    /// It was wrong on a path that table entries may rule out, or about which too little is known.
    doubtful: bool,
    /// The parser states of such a path.
    parser_path: Option<String>,
}

/// A header or variable that is read, assigned or left unassigned.
pub(super) struct Found {
    /// Its place in the text.
    pub span: Span,
    /// As the program writes it.
    pub name: String,
    /// Its declaration; of a header that is made valid too late, where that is.
    pub declared: Option<Span>,
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A field of a header is read.
    HeaderRead,
    /// A field of a header is a table's key.
    KeyRead,
    /// A field of a header is assigned.
    HeaderWrite,
    /// A field of a header is assigned and the header made valid only then.
    EarlyWrite,
    /// A variable is read.
    Unset,
    /// An `out` parameter when its function or control ends.
    OutParam,
}

/// The outcome of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Good,
    Bad,
    Doubtful,
}

/// All findings.
#[derive(Default)]
pub(super) struct Findings(BTreeMap<(Span, Kind, String), Visits>);

impl Findings {
    /// Drops findings of a kind.
    pub(super) fn forget(&mut self, kind: Kind) {
        self.0.retain(|(_, known, _), _| *known != kind);
    }

    /// Records what the statement at `statement` does.
    pub(super) fn note(
        &mut self,
        kind: Kind,
        statement: Span,
        found: Found,
        outcome: Outcome,
        parser_path: Option<&ParserPath>,
    ) {
        let visits = self.0.entry((statement, kind, found.name.clone())).or_default();
        match outcome {
            Outcome::Good => {
                visits.good = true;
                return;
            }
            Outcome::Bad => {
                if !visits.bad {
                    visits.parser_path = parser_path.map(show);
                }
                visits.bad = true;
            }
            Outcome::Doubtful => visits.doubtful = true,
        }
        if visits.found.as_ref().is_none_or(|f| found.span < f.span) {
            visits.found = Some(found);
        }
    }

    pub(super) fn report(self, out: &mut Vec<Diagnostic>) {
        for ((statement, kind, name), visits) in &self.0 {
            let told = |kind| {
                let visits = self.0.get(&(*statement, kind, name.clone()));
                visits.is_some_and(|v| say(kind, v).is_some())
            };
            // One warning for a header in a statement is enough.
            let better = match kind {
                Kind::HeaderWrite => told(Kind::HeaderRead),
                Kind::EarlyWrite => told(Kind::HeaderRead) || told(Kind::HeaderWrite),
                _ => false,
            };
            if better {
                continue;
            }
            out.extend(say(*kind, visits));
        }
    }
}

fn say(kind: Kind, v: &Visits) -> Option<Diagnostic> {
    let Found { span, name, declared } = v.found.as_ref()?;
    let span = *span;
    let always = !v.good && (v.bad || v.doubtful);
    if !always && !v.bad {
        return None;
    }
    let with_path = |d: Diagnostic| match &v.parser_path {
        Some(path) => d.note(format!("for example after the parser states {path}")),
        None => d,
    };
    let d = match kind {
        Kind::HeaderRead if always => Diagnostic::warning("W0020", format!("`{name}` is not valid here"))
            .at(span, "this reads a field of a header that is invalid on all paths here")
            .help(format!("extract the header, or call `{name}.setValid()` and assign its fields")),
        Kind::HeaderRead => with_path(
            Diagnostic::warning("W0020", format!("`{name}` may be invalid here"))
                .at(span, "this reads a field of a header that is not valid on all paths here")
                .help(format!("ask first: `if ({name}.isValid()) {{ ... }}`")),
        ),
        Kind::KeyRead => with_path(
            Diagnostic::warning(
                "W0020",
                format!("`{name}` {} valid here", if always { "is not" } else { "may not be" }),
            )
            .at(span, "this key is a field of a header that is not valid on all paths to the table")
            .help(format!("make `{name}.isValid(): exact` a key, too, or apply the table where the header is valid")),
        ),
        // A header that is assigned only on some paths is often handled on the others.
        Kind::HeaderWrite if always => Diagnostic::warning("W0020", format!("`{name}` is not valid here"))
            .at(span, "what is assigned to a field of an invalid header is lost")
            .help(format!("call `{name}.setValid()` first")),
        Kind::HeaderWrite => return None,
        Kind::EarlyWrite => {
            let d = Diagnostic::warning("W0020", format!("`{name}` may be invalid here"))
                .at(span, "where the header is invalid, what is assigned to its field is lost")
                .help(format!("call `{name}.setValid()` first"));
            with_path(declared.iter().fold(d, |d, at| d.related(*at, "it becomes valid only here")))
        }
        Kind::Unset => {
            let title = if always { "is read" } else { "may be read" };
            let d = Diagnostic::warning("W0021", format!("`{name}` {title} before it has a value")).at(
                span,
                if always { "nothing was assigned to it yet" } else { "nothing was assigned to it on some paths here" },
            );
            match declared {
                Some(at) => d.related(*at, "declared here"),
                None => d,
            }
        }
        Kind::OutParam => {
            let title = if always { "has no value" } else { "may have no value" };
            Diagnostic::warning("W0022", format!("`{name}` {title} at the end"))
                .at(span, "this `out` parameter is not assigned on all paths to the end")
        }
    };
    Some(d)
}

/// `start, parse_ipv4, accept`.
fn show(path: &ParserPath) -> String {
    let mut names = vec!["accept".to_string()];
    let mut at = Some(path);
    while let Some(w) = at {
        names.push(w.state.clone());
        at = w.before.as_deref();
        if names.len() > 8 {
            names.push("...".to_string());
            break;
        }
    }
    names.reverse();
    names.join(", ")
}
