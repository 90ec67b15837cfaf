//! The server's loop: messages in, answers and diagnostics out.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{self, Notification as _};
use lsp_types::request::{self, Request as _};
use lsp_types::{InitializeParams, PublishDiagnosticsParams};
use serde::de::DeserializeOwned;

use crate::features::diagnostics;
use crate::position::Encoding;
use crate::requests;
use crate::settings::Settings;
use crate::transport::{self, Incoming};
use crate::uri;
use crate::world::{Refused, World};

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client sent `shutdown`, then `exit`.
    Properly,
    /// It sent `exit` without `shutdown`, or closed the connection.
    Early,
}

/// Serves a client on standard input and output until it ends the connection.
pub fn run() -> std::io::Result<Ended> {
    serve(std::io::BufReader::new(std::io::stdin()), std::io::stdout().lock())
}

/// Serves a client until it ends the connection. Errors are those of writing to it.
pub fn serve(mut input: impl BufRead + Send + 'static, output: impl Write) -> std::io::Result<Ended> {
    let (to, from) = channel();
    std::thread::spawn(move || transport::read(&mut input, &to));
    Server::new(from, output).run()
}

/// What the client can do.
#[derive(Clone, Copy, Debug, Default)]
struct Client {
    snippets: bool,
    configuration: bool,
    watches_files: bool,
}

struct Server<W> {
    input: Receiver<Incoming>,
    output: W,
    /// What has arrived and is not handled yet.
    waiting: VecDeque<Incoming>,
    cancelled: HashSet<RequestId>,
    world: Option<World>,
    client: Client,
    /// When diagnostics are sent, if something has changed.
    due: Option<Instant>,
    /// Files that have diagnostics at the client.
    published: BTreeSet<PathBuf>,
    shut_down: bool,
    requests_made: i32,
    /// Our question for the settings.
    asked: Option<RequestId>,
}

impl<W: Write> Server<W> {
    fn new(input: Receiver<Incoming>, output: W) -> Server<W> {
        Server {
            input,
            output,
            waiting: VecDeque::new(),
            cancelled: HashSet::new(),
            world: None,
            client: Client::default(),
            due: None,
            published: BTreeSet::new(),
            shut_down: false,
            requests_made: 0,
            asked: None,
        }
    }

    fn run(mut self) -> std::io::Result<Ended> {
        loop {
            while let Ok(incoming) = self.input.try_recv() {
                self.arrived(incoming);
            }
            let Some(next) = self.waiting.pop_front() else {
                let wait = self.due.map_or(Duration::from_secs(3600), |d| d.saturating_duration_since(Instant::now()));
                match self.input.recv_timeout(wait) {
                    Ok(incoming) => self.arrived(incoming),
                    Err(RecvTimeoutError::Timeout) => self.publish()?,
                    Err(RecvTimeoutError::Disconnected) => return Ok(Ended::Early),
                }
                continue;
            };
            match next {
                Incoming::Message(Message::Request(request)) => self.request(request)?,
                Incoming::Message(Message::Response(response)) => self.response(response),
                Incoming::Message(Message::Notification(n)) if n.method == notification::Exit::METHOD => {
                    return Ok(if self.shut_down { Ended::Properly } else { Ended::Early });
                }
                Incoming::Message(Message::Notification(n)) => self.notification(n)?,
                Incoming::Garbage(why) => transport::write_parse_error(&mut self.output, &why)?,
            }
        }
    }

    /// Queues what has arrived. A cancellation overtakes the request that it cancels.
    fn arrived(&mut self, incoming: Incoming) {
        if let Incoming::Message(Message::Notification(n)) = &incoming
            && n.method == notification::Cancel::METHOD
        {
            let id = n.params.get("id");
            let id = id.and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
            let waits =
                |i: &Incoming| matches!(i, Incoming::Message(Message::Request(r)) if Some(&r.id) == id.as_ref());
            if self.waiting.iter().any(waits) {
                self.cancelled.extend(id);
            }
            return;
        }
        self.waiting.push_back(incoming);
    }

    fn send(&mut self, message: impl Into<Message>) -> std::io::Result<()> {
        transport::write(&mut self.output, &message.into())
    }

    // --- requests ----------------------------------------------------------------------------

    fn request(&mut self, request: Request) -> std::io::Result<()> {
        let id = request.id.clone();
        if self.cancelled.remove(&id) {
            let cancelled = Response::new_err(id, ErrorCode::RequestCanceled as i32, "cancelled".into());
            return self.send(cancelled);
        }
        let answered = catch_unwind(AssertUnwindSafe(|| self.answer(request)));
        let response = answered.unwrap_or_else(|_| {
            let message = "the server failed at this request; it goes on".to_string();
            Response::new_err(id, ErrorCode::InternalError as i32, message)
        });
        self.send(response)
    }

    fn answer(&mut self, request: Request) -> Response {
        let error = |id, code: ErrorCode, message: &str| Response::new_err(id, code as i32, message.to_string());
        if request.method == request::Initialize::METHOD {
            if self.world.is_some() {
                return error(request.id, ErrorCode::InvalidRequest, "initialised already");
            }
            return self.initialize(request);
        }
        if self.shut_down {
            return error(request.id, ErrorCode::InvalidRequest, "the server is shut down");
        }
        let Some(world) = &mut self.world else {
            return error(request.id, ErrorCode::ServerNotInitialized, "expected `initialize` first");
        };
        if request.method == request::Shutdown::METHOD {
            self.shut_down = true;
            return Response::new_ok(request.id, ());
        }
        let started = Instant::now();
        let (id, method) = (request.id.clone(), request.method.clone());
        let result = requests::answer(world, request, self.client.snippets);
        tracing::debug!(%method, took = ?started.elapsed(), "answered");
        match result {
            Ok(result) => Response::new_ok(id, result),
            Err(requests::Error::Unknown) => {
                error(id, ErrorCode::MethodNotFound, &format!("`{method}` is not a request that this server knows"))
            }
            Err(requests::Error::Params(why)) => error(id, ErrorCode::InvalidParams, &why),
            Err(requests::Error::Refused(Refused::Invalid(why))) => error(id, ErrorCode::InvalidParams, &why),
            Err(requests::Error::Refused(Refused::Failed(why))) => error(id, ErrorCode::RequestFailed, &why),
        }
    }

    fn initialize(&mut self, request: Request) -> Response {
        let id = request.id;
        let params: InitializeParams = match serde_json::from_value(request.params) {
            Ok(params) => params,
            Err(why) => return Response::new_err(id, ErrorCode::InvalidParams as i32, why.to_string()),
        };
        let settings = match Settings::read(&params.initialization_options.clone().unwrap_or_default()) {
            Ok(settings) => settings,
            Err(error) => {
                tracing::warn!(%error, "initializationOptions are not understood: the defaults are used");
                Settings::default()
            }
        };
        let general = params.capabilities.general.as_ref();
        let encoding = Encoding::choose(general.and_then(|g| g.position_encodings.as_deref()));
        self.client = client(&params);
        self.world = Some(World::new(encoding, settings, folders(&params)));
        let version = env!("CARGO_PKG_VERSION");
        let result = serde_json::json!({
            "capabilities": requests::capabilities(encoding),
            "serverInfo": { "name": "hopwright", "version": version },
        });
        Response::new_ok(id, result)
    }

    fn ask(&mut self, method: &str, params: serde_json::Value) -> std::io::Result<RequestId> {
        self.requests_made += 1;
        let id = RequestId::from(self.requests_made);
        self.send(Request::new(id.clone(), method.to_string(), params))?;
        Ok(id)
    }

    fn ask_for_settings(&mut self) -> std::io::Result<()> {
        if self.client.configuration {
            let params = serde_json::json!({ "items": [{ "section": "hopwright" }] });
            self.asked = Some(self.ask(request::WorkspaceConfiguration::METHOD, params)?);
        }
        Ok(())
    }

    fn response(&mut self, response: Response) {
        if self.asked.as_ref() != Some(&response.id) {
            return;
        }
        self.asked = None;
        if let Ok(value) = serde_json::to_value(&response)
            && let Some(settings) = value.get("result").and_then(|r| r.get(0)).filter(|s| !s.is_null())
        {
            self.configure(settings);
        }
    }

    fn configure(&mut self, value: &serde_json::Value) {
        let settings = match Settings::read(value) {
            Ok(settings) => settings,
            Err(error) => return tracing::warn!(%error, "settings are not understood: they stay as they are"),
        };
        let Some(world) = &mut self.world else { return };
        world.settings = settings;
        world.reset();
        self.later();
    }

    // --- notifications -----------------------------------------------------------------------

    fn notification(&mut self, n: Notification) -> std::io::Result<()> {
        if self.world.is_none() || self.shut_down {
            return Ok(());
        }
        let changed = catch_unwind(AssertUnwindSafe(|| self.change(&n)));
        if let Ok(Err(Refused::Invalid(why) | Refused::Failed(why))) = &changed {
            tracing::warn!(method = %n.method, "{why}");
            self.log(&format!("{}: {why}", n.method))?;
        }
        match n.method.as_str() {
            notification::Initialized::METHOD => {
                self.ask_for_settings()?;
                if self.client.watches_files {
                    self.watch()?;
                }
            }
            notification::DidChangeConfiguration::METHOD if self.client.configuration => self.ask_for_settings()?,
            _ => {}
        }
        Ok(())
    }

    /// Applies a notification to what is known.
    fn change(&mut self, n: &Notification) -> Result<(), Refused> {
        let Some(world) = &mut self.world else { return Ok(()) };
        match n.method.as_str() {
            notification::DidOpenTextDocument::METHOD => {
                let p: lsp_types::DidOpenTextDocumentParams = params(n)?;
                world.open(p.text_document.uri, p.text_document.version, p.text_document.text);
            }
            notification::DidChangeTextDocument::METHOD => {
                let p: lsp_types::DidChangeTextDocumentParams = params(n)?;
                world.edit(&p.text_document.uri, p.text_document.version, &p.content_changes)?;
            }
            notification::DidCloseTextDocument::METHOD => {
                let p: lsp_types::DidCloseTextDocumentParams = params(n)?;
                world.close(&p.text_document.uri);
            }
            notification::DidSaveTextDocument::METHOD => {
                let p: lsp_types::DidSaveTextDocumentParams = params(n)?;
                world.changed(&World::path(&p.text_document.uri));
            }
            notification::DidChangeWatchedFiles::METHOD => {
                let p: lsp_types::DidChangeWatchedFilesParams = params(n)?;
                p.changes.iter().for_each(|c| world.changed(&World::path(&c.uri)));
            }
            notification::DidChangeConfiguration::METHOD => {
                if !self.client.configuration {
                    self.configure(&n.params["settings"]);
                }
                return Ok(());
            }
            notification::DidChangeWorkspaceFolders::METHOD => {
                let p: lsp_types::DidChangeWorkspaceFoldersParams = params(n)?;
                let path = |f: &lsp_types::WorkspaceFolder| uri::to_path(&f.uri);
                let removed: Vec<PathBuf> = p.event.removed.iter().filter_map(path).collect();
                world.folders.retain(|f| !removed.contains(f));
                world.folders.extend(p.event.added.iter().filter_map(path));
                world.reset();
            }
            _ => return Ok(()),
        }
        self.later();
        Ok(())
    }

    /// Sends diagnostics once nothing has changed for a while.
    fn later(&mut self) {
        let debounce = self.world.as_ref().map_or(0, |w| w.settings.debounce);
        self.due = Some(Instant::now() + Duration::from_millis(debounce.min(10_000)));
    }

    fn watch(&mut self) -> std::io::Result<()> {
        let watcher = serde_json::json!({ "globPattern": "**/*.{p4,p4inc,p4h}" });
        let registration = serde_json::json!({
            "id": "files",
            "method": notification::DidChangeWatchedFiles::METHOD,
            "registerOptions": { "watchers": [watcher] },
        });
        self.ask(request::RegisterCapability::METHOD, serde_json::json!({ "registrations": [registration] }))?;
        Ok(())
    }

    fn log(&mut self, message: &str) -> std::io::Result<()> {
        let params = serde_json::json!({ "type": 2, "message": message });
        self.send(Notification::new(notification::LogMessage::METHOD.to_string(), params))
    }

    /// Sends the diagnostics of all programs that open documents belong to.
    fn publish(&mut self) -> std::io::Result<()> {
        self.due = None;
        let Some(world) = &mut self.world else { return Ok(()) };
        let started = Instant::now();
        let Ok(found) = catch_unwind(AssertUnwindSafe(|| diagnostics::all(world))) else { return Ok(()) };
        let gone = self.published.iter().filter(|p| !found.contains_key(*p)).map(|p| (p.clone(), Vec::new()));
        let all: Vec<_> = gone.collect::<Vec<_>>().into_iter().chain(found).collect();
        tracing::debug!(took = ?started.elapsed(), "diagnostics");
        for (path, diagnostics) in all {
            let Some(world) = &self.world else { continue };
            let Some(uri) = world.uri(&path) else { continue };
            let version = world.documents.get(&path).map(|d| d.version);
            if diagnostics.is_empty() {
                self.published.remove(&path);
            } else {
                self.published.insert(path);
            }
            let params = PublishDiagnosticsParams { uri, diagnostics, version };
            self.send(Notification::new(notification::PublishDiagnostics::METHOD.to_string(), params))?;
        }
        Ok(())
    }
}

fn params<P: DeserializeOwned>(n: &Notification) -> Result<P, Refused> {
    serde_json::from_value(n.params.clone()).map_err(|why| Refused::Invalid(why.to_string()))
}

fn client(params: &InitializeParams) -> Client {
    let value = serde_json::to_value(&params.capabilities).unwrap_or_default();
    let has = |pointer: &str| value.pointer(pointer).and_then(|v| v.as_bool()).unwrap_or(false);
    Client {
        snippets: has("/textDocument/completion/completionItem/snippetSupport"),
        configuration: has("/workspace/configuration"),
        watches_files: has("/workspace/didChangeWatchedFiles/dynamicRegistration"),
    }
}

#[allow(deprecated)] // Clients that know no folders have a root.
fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    let folders = params.workspace_folders.iter().flatten().map(|f| &f.uri);
    let mut folders: Vec<PathBuf> = folders.filter_map(uri::to_path).collect();
    if folders.is_empty() {
        folders.extend(params.root_uri.as_ref().and_then(uri::to_path));
    }
    folders
}
