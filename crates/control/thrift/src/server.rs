//! The server: one thread, which answers the calls of all clients one after the other.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hopwright_control::SharedModel;
use hopwright_dataplane::{Digest, Tenant, wait};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::notifications::{self, NotificationAddress, Publisher};
use crate::service::{Host, PortManager, Service};
use crate::wire::{self, Malformed};

/// The most clients. Another one takes the place of the one that has been silent for the longest time.
const MAX_CLIENTS: usize = 64;
/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// How long a client may take to read an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two looks for digests.
const DIGEST_TICK: Duration = Duration::from_millis(20);
/// Time between two looks at which entries were hit.
const TICK: Duration = Duration::from_millis(250);

/// How the server is reached, and what it says of itself.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens.
    pub address: SocketAddr,
    /// The switch's number, which clients can ask for.
    pub device_id: u64,
    /// Where subscribers of notifications connect.
    pub notifications: Option<NotificationAddress>,
}

/// What clients control.
pub struct Switch {
    /// Whose program it is.
    pub tenant: Arc<Tenant>,
    /// Finds the control model of the program if another protocol controls it, too, and may replace it.
    pub model: Box<dyn Fn() -> Option<SharedModel> + Send>,
    /// Opens and closes ports for clients.
    pub ports: Option<Box<dyn PortManager>>,
    /// The next digest that the program has sent.
    pub digests: Box<dyn FnMut() -> Option<Digest> + Send>,
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switch").finish_non_exhaustive()
    }
}

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot serve Thrift at {address}: {error}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The system refused.
    #[error("cannot start the Thrift server: {0}")]
    Start(#[from] io::Error),
    /// The address for notifications cannot be listened on.
    #[error("cannot send notifications at {address}: {error}")]
    Notifications {
        /// The address.
        address: NotificationAddress,
        /// Why.
        error: io::Error,
    },
}

/// A running server. It stops when it is dropped.
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves a switch.
    ///
    /// # Errors
    /// If an address is in use.
    pub fn start(options: &Options, switch: Switch) -> Result<Server, ServeError> {
        let Switch { tenant, model, ports, mut digests } = switch;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let bind = |error| ServeError::Bind { address: options.address, error };
        let listener = runtime.block_on(TcpListener::bind(options.address)).map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let notifications = options.notifications.clone();
        let bound = notifications.as_ref().map(|address| {
            let bound = runtime.block_on(notifications::Listener::bind(address));
            bound.map_err(|error| ServeError::Notifications { address: address.clone(), error })
        });
        let (subscribers, publisher) = (bound.transpose()?, Publisher::default());
        let (started, own) = (Instant::now(), SharedModel::of(tenant.vdp()));
        let model = Box::new(move || model().unwrap_or_else(|| own.clone()));
        let (device_id, port) = (options.device_id, address.port());
        let host = Host { model, tenant: Some(tenant), ports, device_id, port, notifications, started };
        let (stop, stopped) = oneshot::channel();
        let serve = move || {
            wait::give_way();
            let clients = Clients { service: Arc::new(Mutex::new(Service::new(host))), list: Arc::default() };
            runtime.block_on(async {
                let subscribe = async {
                    match &subscribers {
                        Some(subscribers) => subscribers.accept(&publisher).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = clients.accept(&listener) => {}
                    () = clients.sweep(&publisher) => {}
                    () = subscribe => {}
                    () = clients.learn(&mut *digests, &publisher), if subscribers.is_some() => {}
                    _ = stopped => {}
                }
            });
        };
        let thread = std::thread::Builder::new().name("thrift".into()).spawn(serve)?;
        Ok(Server { address, stop: Some(stop), thread: Some(thread) })
    }

    /// The server's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

struct Client {
    /// When it last sent something.
    heard: Instant,
    task: AbortHandle,
}

/// The clients, by number, and what they share.
#[derive(Clone)]
struct Clients {
    service: Arc<Mutex<Service>>,
    list: Arc<Mutex<BTreeMap<u64, Client>>>,
}

/// Why the connection of a client ends.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("it does not read its answers")]
    Stuck,
}

impl Clients {
    async fn accept(&self, listener: &TcpListener) {
        for number in 0.. {
            match listener.accept().await {
                Ok((stream, address)) => self.add(number, stream, address),
                Err(error) => {
                    tracing::warn!("Thrift: cannot accept a client: {error}");
                    // Too many open files, perhaps: others may close some.
                    sleep(TICK).await;
                }
            }
        }
    }

    fn add(&self, number: u64, stream: TcpStream, address: SocketAddr) {
        let mut list = lock(&self.list);
        if list.len() >= MAX_CLIENTS
            && let Some(silent) = list.iter().min_by_key(|(_, client)| client.heard).map(|(number, _)| *number)
            && let Some(client) = list.remove(&silent)
        {
            tracing::debug!("Thrift: client {silent} makes room for another");
            client.task.abort();
        }
        let clients = self.clone();
        let task = tokio::spawn(async move {
            if let Err(end) = clients.serve(number, stream).await {
                tracing::debug!("Thrift: client {address}: {end}");
            }
            lock(&clients.list).remove(&number);
        });
        list.insert(number, Client { heard: Instant::now(), task: task.abort_handle() });
    }

    async fn serve(&self, number: u64, mut stream: TcpStream) -> Result<(), End> {
        stream.set_nodelay(true)?;
        let mut received = Vec::new();
        loop {
            let before = received.len();
            received.resize(before + CHUNK, 0);
            let count = stream.read(&mut received[before..]).await?;
            received.truncate(before + count);
            if count == 0 {
                return Ok(());
            }
            if let Some(client) = lock(&self.list).get_mut(&number) {
                client.heard = Instant::now();
            }
            let mut done = 0;
            while let Some((message, length)) = wire::decode(&received[done..])? {
                done += length;
                let answer = lock(&self.service).handle(&message);
                if let Some(answer) = answer {
                    within(PATIENCE, stream.write_all(&answer.encode())).await??;
                }
                // Others get their turn between the calls of a client that sends many at once.
                tokio::task::yield_now().await;
            }
            received.drain(..done);
            received.shrink_to(CHUNK);
        }
    }

    /// Looks again and again which entries were hit, and which ports are up.
    async fn sweep(&self, publisher: &Publisher) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            lock(&self.service).sweep(publisher);
        }
    }

    /// Takes digests again and again.
    async fn learn(&self, digests: &mut (dyn FnMut() -> Option<Digest> + Send), publisher: &Publisher) {
        let mut ticks = interval(DIGEST_TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            lock(&self.service).learn(digests, publisher);
        }
    }
}

async fn within<T>(time: Duration, work: impl Future<Output = T>) -> Result<T, End> {
    tokio::time::timeout(time, work).await.map_err(|_| End::Stuck)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
