//! Which requests there are, and the features that answer them.

use lsp_server::Request;
use lsp_types::request::{self as r, Request as _};
use lsp_types::*;
use serde_json::Value;

use crate::features::{
    actions, calls, completion, formatting, goto, hints, hover, outline, references, rename, signature, tokens,
};
use crate::position::Encoding;
use crate::world::{Refused, World};

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Error {
    /// Nobody knows this request.
    Unknown,
    /// Its parameters are not those that it has.
    Params(String),
    /// It cannot be done.
    Refused(Refused),
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        Error::Refused(refused)
    }
}

/// What the server offers.
pub(crate) fn capabilities(encoding: Encoding) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        save: Some(TextDocumentSyncSaveOptions::Supported(true)),
        ..TextDocumentSyncOptions::default()
    };
    let letters = |text: &str| Some(text.chars().map(String::from).collect());
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        type_definition_provider: Some(TypeDefinitionProviderCapability::Simple(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: letters(".@<\"/#"),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: letters("(,"),
            ..SignatureHelpOptions::default()
        }),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_range_formatting_provider: Some(OneOf::Left(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        semantic_tokens_provider: Some(SemanticTokensServerCapabilities::SemanticTokensOptions(
            SemanticTokensOptions {
                legend: tokens::legend(),
                range: Some(true),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            },
        )),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        call_hierarchy_provider: Some(CallHierarchyServerCapability::Simple(true)),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}

/// Answers a request.
pub(crate) fn answer(world: &mut World, request: Request, snippets: bool) -> Result<Value, Error> {
    let method = request.method.as_str();
    match method {
        r::Completion::METHOD => with::<r::Completion>(request, |p| {
            let at = place(world, &p.text_document_position)?;
            Ok(Some(CompletionResponse::Array(completion::complete(world, &at, snippets))))
        }),
        r::HoverRequest::METHOD => with::<r::HoverRequest>(request, |p| {
            let at = place(world, &p.text_document_position_params)?;
            Ok(hover::hover(world, &at))
        }),
        r::SignatureHelpRequest::METHOD => with::<r::SignatureHelpRequest>(request, |p| {
            Ok(signature::help(&place(world, &p.text_document_position_params)?))
        }),
        r::CodeActionRequest::METHOD => with::<r::CodeActionRequest>(request, |p| {
            let start = world.at(&p.text_document.uri, p.range.start)?;
            let end = world.at(&p.text_document.uri, p.range.end)?;
            let found = actions::quick_fixes(world, &start.program, start.file, start.offset..end.offset);
            Ok(Some(found.into_iter().map(CodeActionOrCommand::CodeAction).collect()))
        }),
        _ => navigate(world, request).or_else(|request| edit_or_show(world, *request?)),
    }
}

/// Answers, or the request itself if it is for somebody else.
type Answer = Result<Value, Result<Box<Request>, Error>>;

fn navigate(world: &mut World, request: Request) -> Answer {
    let result = match request.method.as_str() {
        r::GotoDefinition::METHOD => with::<r::GotoDefinition>(request, |p| {
            let at = place(world, &p.text_document_position_params)?;
            Ok(goto::definition(world, &at).map(GotoDefinitionResponse::Scalar))
        }),
        r::GotoTypeDefinition::METHOD => with::<r::GotoTypeDefinition>(request, |p| {
            let at = place(world, &p.text_document_position_params)?;
            Ok(goto::type_definition(world, &at).map(GotoDefinitionResponse::Scalar))
        }),
        r::References::METHOD => with::<r::References>(request, |p| {
            let at = place(world, &p.text_document_position)?;
            Ok(references::references(world, &at, p.context.include_declaration))
        }),
        r::DocumentHighlightRequest::METHOD => with::<r::DocumentHighlightRequest>(request, |p| {
            let at = place(world, &p.text_document_position_params)?;
            Ok(references::highlights(world, &at))
        }),
        r::CallHierarchyPrepare::METHOD => with::<r::CallHierarchyPrepare>(request, |p| {
            let at = place(world, &p.text_document_position_params)?;
            Ok(calls::prepare(world, &at))
        }),
        r::CallHierarchyIncomingCalls::METHOD => with::<r::CallHierarchyIncomingCalls>(request, |p| {
            let at = world.at(&p.item.uri, p.item.selection_range.start)?;
            Ok(calls::incoming(world, &at))
        }),
        r::CallHierarchyOutgoingCalls::METHOD => with::<r::CallHierarchyOutgoingCalls>(request, |p| {
            let at = world.at(&p.item.uri, p.item.selection_range.start)?;
            Ok(calls::outgoing(world, &at))
        }),
        r::WorkspaceSymbolRequest::METHOD => with::<r::WorkspaceSymbolRequest>(request, |p| {
            Ok(Some(WorkspaceSymbolResponse::Flat(outline::workspace(world, &p.query))))
        }),
        _ => return Err(Ok(Box::new(request))),
    };
    result.map_err(Err)
}

fn edit_or_show(world: &mut World, request: Request) -> Result<Value, Error> {
    match request.method.as_str() {
        r::PrepareRenameRequest::METHOD => with::<r::PrepareRenameRequest>(request, |p| {
            let at = place(world, &p)?;
            rename::prepare(world, &at).map(|range| Some(PrepareRenameResponse::Range(range)))
        }),
        r::Rename::METHOD => with::<r::Rename>(request, |p| {
            let at = place(world, &p.text_document_position)?;
            rename::rename(world, &at, &p.new_name).map(Some)
        }),
        r::Formatting::METHOD => with::<r::Formatting>(request, |p| {
            let text = world.text(&p.text_document.uri)?;
            formatting::edits(&text, world.encoding, None).map(Some)
        }),
        r::RangeFormatting::METHOD => with::<r::RangeFormatting>(request, |p| {
            let text = world.text(&p.text_document.uri)?;
            formatting::edits(&text, world.encoding, Some(formatting::lines(p.range))).map(Some)
        }),
        r::InlayHintRequest::METHOD => with::<r::InlayHintRequest>(request, |p| {
            let start = world.at(&p.text_document.uri, p.range.start)?;
            let end = end_of(world, &p.text_document.uri, p.range.end)?;
            Ok(Some(hints::hints(world, &start.program, start.file, start.offset..end)))
        }),
        r::SemanticTokensFullRequest::METHOD => with::<r::SemanticTokensFullRequest>(request, |p| {
            let at = world.at(&p.text_document.uri, Position::default())?;
            let data = tokens::tokens(world, &at.program, at.file, 0..usize::MAX);
            Ok(Some(SemanticTokensResult::Tokens(SemanticTokens { result_id: None, data })))
        }),
        r::SemanticTokensRangeRequest::METHOD => with::<r::SemanticTokensRangeRequest>(request, |p| {
            let at = world.at(&p.text_document.uri, p.range.start)?;
            let end = end_of(world, &p.text_document.uri, p.range.end)?;
            let data = tokens::tokens(world, &at.program, at.file, at.offset..end);
            Ok(Some(SemanticTokensRangeResult::Tokens(SemanticTokens { result_id: None, data })))
        }),
        r::DocumentSymbolRequest::METHOD => with::<r::DocumentSymbolRequest>(request, |p| {
            let at = world.at(&p.text_document.uri, Position::default())?;
            Ok(Some(DocumentSymbolResponse::Nested(outline::document(world, &at.program, at.file))))
        }),
        r::FoldingRangeRequest::METHOD => with::<r::FoldingRangeRequest>(request, |p| {
            let at = world.at(&p.text_document.uri, Position::default())?;
            Ok(at.program.text(at.file).map(outline::folds))
        }),
        _ => Err(Error::Unknown),
    }
}

/// Reads the parameters of a request and makes its answer.
fn with<R: r::Request>(
    request: Request,
    answer: impl FnOnce(R::Params) -> Result<R::Result, Refused>,
) -> Result<Value, Error> {
    let params = serde_json::from_value(request.params).map_err(|why| Error::Params(why.to_string()))?;
    serde_json::to_value(answer(params)?).map_err(|why| Error::Params(why.to_string()))
}

fn place(world: &mut World, p: &TextDocumentPositionParams) -> Result<crate::world::At, Refused> {
    world.at(&p.text_document.uri, p.position)
}

/// The end of a range that a client shows: some go beyond the last line.
fn end_of(world: &mut World, uri: &Uri, position: Position) -> Result<usize, Refused> {
    let at = world.at(uri, Position::default())?;
    let text = at.program.text(at.file);
    Ok(text.and_then(|t| t.offset(position, world.encoding).ok()).unwrap_or(usize::MAX))
}
