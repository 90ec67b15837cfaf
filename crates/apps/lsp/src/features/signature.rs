//! Signature help: the parameters of what is being called.

use hopwright_source::Span;
use lsp_types::{
    Documentation, MarkupContent, MarkupKind, ParameterInformation, ParameterLabel, SignatureHelp, SignatureInformation,
};

use super::context::{self, Call};
use crate::describe;
use crate::members::{self, Receiver};
use crate::program::Program;
use crate::symbols::{Kind, Symbols};
use crate::world::At;

/// The signatures of the call around a place.
pub(crate) fn help(at: &At) -> Option<SignatureHelp> {
    let program = &*at.program;
    let call = context::call(program.text(at.file)?.text(), at.offset)?;
    let symbols = program.symbols();
    let found = callees(program, &symbols, &call, at);
    let signatures: Vec<SignatureInformation> =
        found.into_iter().filter_map(|s| signature(program, &symbols, s)).collect();
    let takes = |s: &SignatureInformation| s.parameters.as_ref().is_some_and(|p| p.len() > call.argument);
    let active = signatures.iter().position(takes).unwrap_or(0);
    (!signatures.is_empty()).then_some(SignatureHelp {
        signatures,
        active_signature: Some(active as u32),
        active_parameter: Some(call.argument as u32),
    })
}

/// The declarations that a call may mean.
fn callees(program: &Program, symbols: &Symbols<'_>, call: &Call, at: &At) -> Vec<usize> {
    let Some((name, before)) = call.callee.split_last() else { return Vec::new() };
    let here = Span::new(at.file, call.at as u32, call.at as u32);
    if before.is_empty() {
        let Some(found) = symbols.lookup(&name.name, here) else { return Vec::new() };
        return match symbols.all[found].kind {
            Kind::Function | Kind::ExternFunction => {
                let same = symbols.all.iter().enumerate().filter(|(_, s)| **s.name == *name.name);
                same.filter(|(_, s)| matches!(s.kind, Kind::Function | Kind::ExternFunction)).map(|(i, _)| i).collect()
            }
            Kind::Extern => {
                let made = symbols.children(found).filter(|(_, s)| s.kind == Kind::Constructor);
                made.map(|(i, _)| i).collect()
            }
            _ => vec![found],
        };
    }
    let Some(Receiver::Value(ty)) = members::receiver(program, symbols, before, here) else { return Vec::new() };
    let Some(declared) = ty.declaration.and_then(|d| symbols.at(d)) else { return Vec::new() };
    if name.name == "apply" {
        return vec![declared];
    }
    let methods = symbols.children(declared).filter(|(_, s)| s.kind == Kind::Method && **s.name == *name.name);
    methods.map(|(i, _)| i).collect()
}

fn signature(program: &Program, symbols: &Symbols<'_>, found: usize) -> Option<SignatureInformation> {
    let symbol = &symbols.all[found];
    let params = describe::callable(symbol.node)?;
    let texts: Vec<String> = params.iter().map(|p| program.snippet(p.span).to_string()).collect();
    let label = describe::declaration(program, symbols, symbol);
    Some(SignatureInformation {
        label: label.trim_end_matches(';').to_string(),
        documentation: describe::documentation(program, symbol)
            .map(|value| Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value })),
        parameters: Some(
            texts
                .into_iter()
                .map(|t| ParameterInformation { label: ParameterLabel::Simple(t), documentation: None })
                .collect(),
        ),
        active_parameter: None,
    })
}
