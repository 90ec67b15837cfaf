//! P4Runtime clients: one for people without a controller, which reads and writes any P4Runtime server by names, and a [`Controller`],
//! which makes a switch equal to what an agent writes.
//!
//! `names` resolves names of P4Info's objects, `value` converts numbers, addresses and matches, `entry` converts entries.
//!
//! The [`Client`] reads without taking part in elections. It writes in a role of its own, [`ROLE`], and so never takes a controller's
//! place; beside a primary controller it writes only with `force`.

mod controller;
mod entry;
mod names;
mod value;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prost::Message as _;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Status, Streaming};

pub use controller::{Controller, ControllerOptions, Mastership, PipelinePolicy};
pub use entry::{ActionText, CountText, EntryText, Written, data_text};
pub use names::{Either, Names, Unknown, alias};
pub use value::{Format, ValueError, number_text, parse_match, parse_number};

use crate::program::Program;
use crate::proto::config::P4Info;
use crate::proto::{rpc, trace, v1};
use trace::trace_client::TraceClient;
use v1::get_forwarding_pipeline_config_request::ResponseType;
use v1::p4_runtime_client::P4RuntimeClient;
use v1::stream_message_response::Update as Received;

/// The role in which the client writes.
pub const ROLE: &str = "hopwright-command";

/// The longest message.
const MAX_MESSAGE: usize = 128 << 20;
/// The most updates in one write.
const BATCH: usize = 1000;
/// Timeout of connecting and of the answer to an election.
const PATIENCE: Duration = Duration::from_secs(5);
/// Interval between questions whether the switch is there, while nothing comes from it.
const PROBE: Duration = Duration::from_secs(10);
/// Interval between attempts while another such client writes.
const AGAIN: Duration = Duration::from_millis(50);
/// The most errors of one write that are reported.
const REPORTED: usize = 10;

/// How to reach a switch.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// `HOST:PORT`.
    pub server: String,
    /// The device id.
    pub device: u64,
    /// Encryption.
    pub tls: Option<ClientTls>,
    /// Whether to write although a controller is primary.
    pub force: bool,
}

/// The client's encryption settings: files in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTls {
    /// Certificates of the server's authorities.
    pub ca: PathBuf,
    /// The name in the server's certificate, if it differs from the host.
    pub name: Option<String>,
    /// Certificate and key to show to the server.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ClientError {
    #[error("cannot reach a switch at {server}: {reason}; is `hopwright run` running there? (--server)")]
    Unreachable { server: String, reason: String },
    #[error("{}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error("the switch has no program yet")]
    NoProgram,
    #[error("the switch refuses: {}{}", .0.message(), code_text(.0.code()))]
    Refused(Box<Status>),
    #[error("{}", refused_text(.refused, *.of))]
    Updates { refused: Vec<RefusedUpdate>, of: usize },
    #[error("a controller is primary (election id {0}); --force writes beside it")]
    ControllerIsPrimary(u128),
    #[error("somebody else writes in the role `{ROLE}` all the time")]
    Crowded,
    #[error("the switch does not take part in an election")]
    Silent,
    #[error("the switch has ended the connection")]
    Gone,
    #[error("this switch does not show what it does to packets: it is not Hopwright, or an older one")]
    NotOurs,
    #[error(transparent)]
    Unknown(#[from] Unknown),
    #[error("{0}")]
    Text(String),
    #[error("cannot start: {0}")]
    Start(#[from] std::io::Error),
}

/// An update that the switch has refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedUpdate {
    /// Its place among those of the write, from 0.
    pub index: usize,
    /// Why.
    pub reason: String,
}

fn refused_text(refused: &[RefusedUpdate], of: usize) -> String {
    if let ([only], 1) = (refused, of) {
        return format!("the switch refuses: {}", only.reason);
    }
    let mut text = format!("the switch refuses {} of {of}:", refused.len());
    for update in refused.iter().take(REPORTED) {
        text.push_str(&format!("\n  number {}: {}", update.index + 1, update.reason));
    }
    if refused.len() > REPORTED {
        text.push_str("\n  …");
    }
    text
}

type Result<T> = std::result::Result<T, ClientError>;

impl From<Status> for ClientError {
    fn from(status: Status) -> ClientError {
        ClientError::Refused(Box::new(status))
    }
}

fn code_text(code: Code) -> String {
    match code {
        Code::Unknown => String::new(),
        code => format!(" ({code:?})"),
    }
}

/// A connection to a device with a program. Calls block until they are answered.
pub struct Client {
    options: ClientOptions,
    runtime: Runtime,
    channel: Channel,
    stub: P4RuntimeClient<Channel>,
    names: Names,
}

impl Client {
    /// Connects and reads the program.
    ///
    /// # Errors
    /// If there is no switch, or one without a program.
    pub fn connect(options: ClientOptions) -> Result<Client> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let channel = runtime.block_on(channel(&options))?;
        let mut stub = P4RuntimeClient::new(channel.clone())
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE);
        let config = runtime.block_on(config(&mut stub, options.device, ResponseType::P4infoAndCookie))?;
        let info = config.p4info.ok_or(ClientError::NoProgram)?;
        Ok(Client { options, runtime, channel, stub, names: Names::new(info) })
    }

    /// The program, as the switch has it.
    ///
    /// # Errors
    /// If the switch does not have it in a form that is known here.
    pub fn program(&mut self) -> Result<Program> {
        let config = self.runtime.block_on(config(&mut self.stub, self.options.device, ResponseType::All))?;
        Program::from_config(&config).map_err(|failure| ClientError::Text(failure.message))
    }

    /// The program's names.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The program's P4Info.
    pub fn info(&self) -> &P4Info {
        self.names.info()
    }

    /// Reads everything that an entity asks for.
    ///
    /// # Errors
    /// If the switch refuses.
    pub fn read(&mut self, asked: v1::entity::Entity) -> Result<Vec<v1::entity::Entity>> {
        let entities = vec![v1::Entity { entity: Some(asked) }];
        let request = v1::ReadRequest { device_id: self.options.device, entities, ..Default::default() };
        let stub = &mut self.stub;
        self.runtime.block_on(async {
            let mut answers = stub.read(request).await?.into_inner();
            let mut found = Vec::new();
            while let Some(answer) = answers.message().await? {
                found.extend(answer.entities.into_iter().filter_map(|e| e.entity));
            }
            Ok(found)
        })
    }

    /// Traces packets through a Hopwright switch; `each` returns whether to continue.
    ///
    /// # Errors
    /// If the switch is not Hopwright, or refuses a condition.
    pub fn watch(
        &mut self,
        request: trace::WatchRequest,
        mut each: impl FnMut(trace::WatchReply) -> bool,
    ) -> Result<()> {
        let request = trace::WatchRequest { device_id: self.options.device, ..request };
        let mut stub = TraceClient::new(self.channel.clone()).max_decoding_message_size(MAX_MESSAGE);
        self.runtime.block_on(async {
            let answers = stub.watch(request).await.map_err(|status| match status.code() {
                Code::Unimplemented if status.message().is_empty() => ClientError::NotOurs,
                _ => status.into(),
            });
            let mut answers = answers?.into_inner();
            while let Some(answer) = answers.message().await? {
                if !each(answer) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Makes updates of one type.
    ///
    /// # Errors
    /// If a controller is primary and writing was not forced, or the switch refuses some updates.
    pub fn write(&mut self, kind: v1::update::Type, entities: Vec<v1::entity::Entity>) -> Result<()> {
        let update = |e| v1::Update { r#type: kind.into(), entity: Some(v1::Entity { entity: Some(e) }) };
        self.write_updates(entities.into_iter().map(update).collect())
    }

    /// Makes updates, in order.
    ///
    /// # Errors
    /// As [`Client::write`].
    pub fn write_updates(&mut self, updates: Vec<v1::Update>) -> Result<()> {
        if updates.is_empty() {
            return Ok(());
        }
        let Client { options, runtime, stub, .. } = self;
        runtime.block_on(async {
            if !options.force {
                look_for_controller(stub, options.device).await?;
            }
            let stream = take_role(stub, options.device).await?;
            let (mut updates, mut written) = (updates.into_iter(), 0);
            while updates.len() > 0 {
                let batch: Vec<_> = updates.by_ref().take(BATCH).collect();
                let end = written + batch.len();
                let request = v1::WriteRequest {
                    device_id: options.device,
                    role: ROLE.into(),
                    election_id: Some(OURS),
                    updates: batch,
                    ..Default::default()
                };
                stub.write(request).await.map_err(|status| failed_updates(&status, written..end))?;
                written = end;
            }
            drop(stream);
            Ok(())
        })
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Reads a switch's program.
async fn config(
    stub: &mut P4RuntimeClient<Channel>,
    device_id: u64,
    parts: ResponseType,
) -> Result<v1::ForwardingPipelineConfig> {
    let request = v1::GetForwardingPipelineConfigRequest { device_id, response_type: parts.into() };
    let answer = stub.get_forwarding_pipeline_config(request).await.map_err(|status| match status.code() {
        Code::FailedPrecondition => ClientError::NoProgram,
        _ => status.into(),
    })?;
    answer.into_inner().config.ok_or(ClientError::NoProgram)
}

/// The election id of all clients of this kind, so that one writes at a time.
const OURS: v1::Uint128 = v1::Uint128 { high: 0, low: 1 };

async fn channel(options: &ClientOptions) -> Result<Channel> {
    let unreachable = |reason: String| ClientError::Unreachable { server: options.server.clone(), reason };
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let mut endpoint = Endpoint::from_shared(format!("{scheme}://{}", options.server))
        .map_err(|_| unreachable("this is not HOST:PORT".into()))?
        .connect_timeout(PATIENCE)
        .http2_keep_alive_interval(PROBE)
        .keep_alive_timeout(PATIENCE)
        .keep_alive_while_idle(true)
        .tcp_nodelay(true);
    if let Some(tls) = &options.tls {
        let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(file(&tls.ca)?));
        if let Some(name) = &tls.name {
            config = config.domain_name(name);
        }
        if let Some((certificate, key)) = &tls.identity {
            config = config.identity(Identity::from_pem(file(certificate)?, file(key)?));
        }
        endpoint = endpoint.tls_config(config).map_err(|e| unreachable(deepest(&e)))?;
    }
    endpoint.connect().await.map_err(|e| unreachable(deepest(&e)))
}

fn file(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| ClientError::File { path: path.into(), reason: e.to_string() })
}

/// The innermost cause of an error.
fn deepest(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

type Said = mpsc::Sender<v1::StreamMessageRequest>;
type Answers = Streaming<v1::StreamMessageResponse>;

/// Opens a stream, takes part in the election, and receives the primary. The stream lives as long as the returned value.
async fn arbitrate(
    stub: &mut P4RuntimeClient<Channel>,
    device_id: u64,
    role: Option<&str>,
    election_id: Option<v1::Uint128>,
) -> Result<(Said, Answers, v1::MasterArbitrationUpdate)> {
    let (to, from) = mpsc::channel(1);
    let role = role.map(|name| v1::Role { name: name.into(), ..Default::default() });
    let given = v1::MasterArbitrationUpdate { device_id, role, election_id, status: None };
    let given = v1::stream_message_request::Update::Arbitration(given);
    // The queue has room for one message.
    let _ = to.try_send(v1::StreamMessageRequest { update: Some(given) });
    let reply = async {
        let mut answers = stub.stream_channel(ReceiverStream::new(from)).await?.into_inner();
        while let Some(answer) = answers.message().await? {
            if let Some(Received::Arbitration(reply)) = answer.update {
                return Ok((answers, reply));
            }
        }
        Err(ClientError::Silent)
    };
    let (answers, reply) = tokio::time::timeout(PATIENCE, reply).await.map_err(|_| ClientError::Silent)??;
    Ok((to, answers, reply))
}

/// Fails if a controller is primary of the default role.
async fn look_for_controller(stub: &mut P4RuntimeClient<Channel>, device: u64) -> Result<()> {
    let (_to, _answers, reply) = arbitrate(stub, device, None, None).await?;
    let code = reply.status.map_or(0, |s| s.code);
    if code == Code::NotFound as i32 {
        return Ok(());
    }
    let id = reply.election_id.unwrap_or_default();
    Err(ClientError::ControllerIsPrimary(u128::from(id.high) << 64 | u128::from(id.low)))
}

/// Becomes primary of the client's own role; waits for other such clients.
async fn take_role(stub: &mut P4RuntimeClient<Channel>, device: u64) -> Result<(Said, Answers)> {
    let start = Instant::now();
    loop {
        match arbitrate(stub, device, Some(ROLE), Some(OURS)).await {
            Ok((to, answers, _)) => return Ok((to, answers)),
            Err(ClientError::Refused(status)) if status.code() == Code::InvalidArgument => {
                if start.elapsed() > PATIENCE {
                    return Err(ClientError::Crowded);
                }
                tokio::time::sleep(AGAIN).await;
            }
            Err(other) => return Err(other),
        }
    }
}

/// Which of the updates in this range of a write failed, and why.
fn failed_updates(status: &Status, updates: std::ops::Range<usize>) -> ClientError {
    let details = rpc::Status::decode(status.details()).map(|s| s.details).unwrap_or_default();
    let error = |(index, any): (usize, &prost_types::Any)| {
        let error = v1::Error::decode(&*any.value).ok().filter(|error| error.canonical_code != 0)?;
        let reason = format!("{}{}", error.message, code_text(Code::from_i32(error.canonical_code)));
        Some(RefusedUpdate { index, reason })
    };
    let refused: Vec<RefusedUpdate> = (updates.start..).zip(&details).filter_map(error).collect();
    match refused.is_empty() {
        true => ClientError::Refused(Box::new(status.clone())),
        false => ClientError::Updates { refused, of: updates.end },
    }
}
