//! The administration socket: a request as a line of JSON, its answer as another.
//!
//! Who may write to the socket administers the switch: it belongs to the user of the switch and has mode 0600. P4Runtime clients can do
//! nothing of this.

use std::fmt::Display;
use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::config::{Bytes, Limits, Quantity};
use crate::metrics::{DROPS, table_entries};
use crate::run::{Command, SwitchError};
use crate::running::{Hosted, Running, in_a_line};

/// The longest request, in bytes: the text of a tenant's configuration.
const LONGEST: u64 = 1 << 20;
/// How long a client may take to send a request or to receive an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a client waits for an answer: adding a tenant compiles its program.
const ANSWER: Duration = Duration::from_secs(120);

/// An administrator's request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// What tenants there are.
    List,
    /// A tenant's limits and counts.
    Show {
        /// Its name.
        tenant: String,
    },
    /// Adds a tenant, until the switch reads its configuration again.
    Add {
        /// Where the text comes from: paths in it are relative to its folder.
        file: PathBuf,
        /// A file with one `[[tenant]]`.
        text: String,
    },
    /// Removes a tenant, until the switch reads its configuration again.
    Remove {
        /// Its name.
        tenant: String,
    },
    /// Changes what a tenant may use, until its configuration changes. What is not given stays.
    Limit {
        /// Its name.
        tenant: String,
        /// Packets a second, as a [`Quantity`], or [`NO_LIMIT`].
        packets: Option<String>,
        /// Bits a second, likewise.
        bits: Option<String>,
        /// Its share.
        share: Option<u32>,
        /// Memory, as [`Bytes`], or [`NO_LIMIT`]: an equal share of what other tenants leave.
        #[serde(default)]
        memory: Option<String>,
    },
}

/// In the place of a quantity: no limit.
pub const NO_LIMIT: &str = "none";

/// What a request results in: JSON, or why it was not carried out.
pub type Answer = Result<Value, String>;

/// Why the socket is of no use, or a request was not carried out.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum AdminError {
    #[error("cannot open the administration socket {}: {error}", path.display())]
    Open { path: PathBuf, error: io::Error },
    #[error("a switch is running already with the administration socket {}", path.display())]
    InUse { path: PathBuf },
    #[error("cannot talk to a switch at {}: {error}", path.display())]
    Connect { path: PathBuf, error: io::Error },
    #[error("{0}")]
    Refused(String),
}

/// Asks the switch with this socket.
///
/// # Errors
/// If there is none, or it refuses.
pub fn ask(path: &Path, request: &Request) -> Result<Value, AdminError> {
    let connect = |error| AdminError::Connect { path: path.to_path_buf(), error };
    let exchange = || -> io::Result<String> {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(ANSWER))?;
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        stream.write_all(&line)?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer)?;
        Ok(answer)
    };
    let answer = exchange().map_err(connect)?;
    let answer: Answer = serde_json::from_str(&answer).map_err(|e| connect(e.into()))?;
    answer.map_err(AdminError::Refused)
}

/// An open administration socket. Closed and removed when dropped.
pub(crate) struct Socket {
    path: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Socket {
    /// Opens the socket and passes on what is asked.
    pub(crate) fn open(path: &Path, tell: Sender<Command>) -> Result<Socket, AdminError> {
        let failed = |error| AdminError::Open { path: path.to_path_buf(), error };
        if UnixStream::connect(path).is_ok() {
            return Err(AdminError::InUse { path: path.to_path_buf() });
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        // Of a switch that was killed.
        let _ = fs::remove_file(path);
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let until = stop.clone();
        let serve = move || {
            for stream in listener.incoming() {
                if until.load(Ordering::Acquire) {
                    break;
                }
                // Errors concern the client only.
                let _ = stream.and_then(|stream| answer(stream, &tell));
            }
        };
        let thread = std::thread::Builder::new().name("admin".into()).spawn(serve).map_err(failed)?;
        Ok(Socket { path: path.to_path_buf(), stop, thread: Some(thread) })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // Wakes the thread, which then ends.
        let woken = UnixStream::connect(&self.path).is_ok();
        let _ = fs::remove_file(&self.path);
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: UnixStream, tell: &Sender<Command>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.try_clone()?.take(LONGEST)).read_line(&mut line)?;
    let answer = match serde_json::from_str(&line) {
        Err(error) => Err(format!("no request of this version: {error}")),
        Ok(request) => {
            let (to, from) = mpsc::channel();
            let told = tell.send(Command::Admin(request, to)).is_ok();
            let stopping = || Err("the switch is stopping".into());
            if told { from.recv().unwrap_or_else(|_| stopping()) } else { stopping() }
        }
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    stream.shutdown(Shutdown::Both)
}

/// Does what an administrator asks for.
pub(crate) fn carry_out(running: &mut Running, request: Request) -> Answer {
    let done = |result: Result<Vec<String>, SwitchError>| match result {
        Ok(changes) => {
            if !changes.is_empty() {
                tracing::info!("administrator: {}", in_a_line(&changes));
            }
            Ok(json!({ "changes": changes }))
        }
        Err(error) => Err(error.to_string()),
    };
    let missing = |name: &str| SwitchError::NoSuchTenant(name.into()).to_string();
    match request {
        Request::List => Ok(running.all_hosted().iter().map(summary).collect()),
        Request::Show { tenant } => running.hosted(&tenant).map(details).ok_or_else(|| missing(&tenant)),
        Request::Add { file, text } => {
            let config = running.config().with_tenant(&file, &text);
            done(config.map_err(SwitchError::from).and_then(|config| running.change(config)))
        }
        Request::Remove { tenant } => {
            running.hosted(&tenant).ok_or_else(|| missing(&tenant))?;
            done(running.change(running.config().without_tenant(&tenant)))
        }
        Request::Limit { tenant, packets, bits, share, memory } => {
            let now = running.hosted(&tenant).ok_or_else(|| missing(&tenant))?.config.limits;
            let limits = Limits {
                memory: quantity(memory.as_deref(), now.memory, |Bytes(value)| value)?,
                packets: quantity(packets.as_deref(), now.packets, |Quantity(value)| value)?,
                bits: quantity(bits.as_deref(), now.bits, |Quantity(value)| value)?,
                share: share.unwrap_or(now.share),
                ..now
            };
            limits.check().map_err(|error| error.to_string())?;
            done(running.set_limits(&tenant, limits).map(|()| vec![format!("tenant {tenant}: other limits")]))
        }
    }
}

fn quantity<T: FromStr<Err: Display>>(
    requested: Option<&str>,
    now: Option<u64>,
    number: impl Fn(T) -> u64,
) -> Result<Option<u64>, String> {
    match requested {
        None => Ok(now),
        Some(NO_LIMIT) => Ok(None),
        Some(text) => text.parse().map(|value| Some(number(value))).map_err(|e: T::Err| e.to_string()),
    }
}

fn summary(hosted: &Hosted) -> Value {
    let (config, stats) = (&hosted.config, hosted.tenant.stats());
    let dropped: u64 = DROPS.iter().map(|(_, of)| of(&stats)).sum();
    json!({
        "name": config.name,
        "program": hosted.tenant.vdp().pipeline().name,
        "device_id": config.device_id,
        "ports": config.ports,
        "limits": limits(&config.limits),
        "memory": { "held": hosted.tenant.memory(), "limit": hosted.tenant.limits().memory },
        "received": stats.rx_packets,
        "sent": stats.tx_packets,
        "dropped": dropped,
    })
}

fn limits(limits: &Limits) -> Value {
    json!({ "packets": limits.packets, "bits": limits.bits, "share": limits.share, "frames": limits.frames, "memory": limits.memory })
}

fn details(hosted: &Hosted) -> Value {
    let (mut value, stats, vdp) = (summary(hosted), hosted.tenant.stats(), hosted.tenant.vdp());
    let drops: serde_json::Map<String, Value> =
        DROPS.iter().map(|(name, of)| (name.to_string(), of(&stats).into())).collect();
    let tables: serde_json::Map<String, Value> =
        table_entries(&vdp).map(|(name, entries)| (name.to_string(), entries.into())).collect();
    value["counts"] = json!({
        "received_packets": stats.rx_packets, "received_bytes": stats.rx_bytes,
        "sent_packets": stats.tx_packets, "sent_bytes": stats.tx_bytes,
        "processed": stats.packets, "punted": stats.punted, "injected": stats.injected, "copied": stats.copied,
        "lost_digests": stats.digests_lost, "busy_ns": stats.busy_ns, "dropped": drops,
    });
    value["table_entries"] = tables.into();
    value["cpu_queue"] = json!({ "waiting": hosted.tenant.cpu().len(), "capacity": hosted.tenant.cpu().capacity() });
    value
}
