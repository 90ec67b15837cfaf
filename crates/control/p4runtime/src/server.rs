//! The server: address, encryption, limits, and the threads it runs on.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hopwright_dataplane::wait;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tonic::service::Routes;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Identity, Server as Grpc, ServerTlsConfig};

use crate::access::Access;
use crate::device::Device;
use crate::devices::Devices;
use crate::proto::trace::trace_server::TraceServer;
use crate::proto::v1::p4_runtime_server::P4RuntimeServer;
use crate::registry::Registry;
use crate::service::Service;
use crate::uploads::Uploads;

/// The default address of the server.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:9559";

/// The longest message.
const MAX_MESSAGE: usize = 128 << 20;
/// The most simultaneous calls and streams of one connection.
const MAX_CALLS: usize = 256;

/// Bytes that a client may send in a call before they are read. Calls that wait for their turn must not keep others of their connection
/// waiting, so a connection has room for all of its calls.
const CALL_WINDOW: u32 = 128 << 10;

/// The server's configuration.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address. Port 0 selects a free port.
    pub address: SocketAddr,
    /// Encryption; without it anyone who reaches the address may control the switch.
    pub tls: Option<Tls>,
    /// Which clients may reach which devices.
    pub access: Access,
}

/// Files in PEM form.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The server's certificate chain.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Certificates of authorities whose clients are accepted; without it, any client.
    pub client_ca: Option<PathBuf>,
}

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ServeError {
    #[error("cannot serve {protocol} at {address}: {error}")]
    Bind { protocol: &'static str, address: SocketAddr, error: io::Error },
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("the certificate or key is not usable: {0}")]
    Tls(String),
    #[error("device id {0} is given twice")]
    DeviceTwice(u64),
    #[error("cannot start the server: {0}")]
    Start(#[from] io::Error),
}

/// A running server. Stops when it is dropped. Its threads give way to workers ([`wait::give_way`]).
pub struct Server {
    address: SocketAddr,
    registry: Arc<Registry>,
    runtime: Option<Runtime>,
    stop: Option<oneshot::Sender<()>>,
}

impl Server {
    /// Starts a server for these devices, on threads of its own.
    ///
    /// # Errors
    /// If the address is in use, or certificates are invalid.
    pub fn start(options: &Options, devices: impl IntoIterator<Item = Device>) -> Result<Server, ServeError> {
        Server::start_with(options, devices, |_, routes| routes)
    }

    /// The same with services of other protocols, which `add` adds to P4Runtime's. They have the devices.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_with(
        options: &Options,
        devices: impl IntoIterator<Item = Device>,
        add_services: impl FnOnce(Devices, Routes) -> Routes,
    ) -> Result<Server, ServeError> {
        Server::listen(options, "P4Runtime", devices, |service| {
            let (trace, for_others) = (TraceServer::new(service.clone()), Devices::new(service.clone()));
            let service = P4RuntimeServer::new(service)
                .max_decoding_message_size(MAX_MESSAGE)
                .max_encoding_message_size(MAX_MESSAGE);
            add_services(for_others, Routes::new(service).add_service(trace))
        })
    }

    /// Starts a server of another protocol alone, with the encryption, rights and limits of this one, and without devices.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_other(
        options: &Options,
        protocol: &'static str,
        services: impl FnOnce(Devices, Routes) -> Routes,
    ) -> Result<Server, ServeError> {
        Server::listen(options, protocol, [], |service| services(Devices::new(service), Routes::default()))
    }

    fn listen(
        options: &Options,
        protocol: &'static str,
        devices: impl IntoIterator<Item = Device>,
        routes: impl FnOnce(Service) -> Routes,
    ) -> Result<Server, ServeError> {
        let registry = Arc::new(Registry::new(options.access.clone()));
        let mut runtime = Builder::new_multi_thread();
        runtime.worker_threads(2).thread_name("p4runtime").on_thread_start(wait::give_way).enable_all();
        let runtime = runtime.build()?;
        let bind = |error| ServeError::Bind { protocol, address: options.address, error };
        let listener = runtime.block_on(TcpListener::bind(options.address)).map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let mut grpc = Grpc::builder()
            .concurrency_limit_per_connection(MAX_CALLS)
            .max_concurrent_streams(MAX_CALLS as u32)
            .http2_keepalive_interval(Some(Duration::from_secs(30)))
            .initial_stream_window_size(CALL_WINDOW)
            .initial_connection_window_size(CALL_WINDOW * MAX_CALLS as u32)
            .layer(Uploads::new(registry.clone()));
        if let Some(tls) = &options.tls {
            let mut config =
                ServerTlsConfig::new().identity(Identity::from_pem(read(&tls.certificate)?, read(&tls.key)?));
            if let Some(ca) = &tls.client_ca {
                config = config.client_ca_root(Certificate::from_pem(read(ca)?));
            }
            grpc = grpc.tls_config(config).map_err(|e| ServeError::Tls(words(&e)))?;
        }
        for device in devices {
            add(&registry, &Arc::new(device))?;
        }
        let service = Service::new(registry.clone());
        runtime.spawn(service.give_memory_back());
        let (stop, stopped) = oneshot::channel::<()>();
        // Packets do not wait for acknowledgements of others.
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let serving = grpc.add_routes(routes(service)).serve_with_incoming_shutdown(incoming, async {
            let _ = stopped.await;
        });
        runtime.spawn(async move {
            if let Err(error) = serving.await {
                tracing::error!("{protocol}: {}", words(&error));
            }
        });
        Ok(Server { address, registry, runtime: Some(runtime), stop: Some(stop) })
    }

    /// The server's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The devices.
    pub fn devices(&self) -> Vec<Arc<Device>> {
        self.registry.devices()
    }

    /// Adds a device.
    ///
    /// # Errors
    /// If there is a device with its id, or no thread can be started.
    pub fn add(&self, device: Device) -> Result<Arc<Device>, ServeError> {
        let device = Arc::new(device);
        add(&self.registry, &device).map(|()| device)
    }

    /// Adds a device that others have, too.
    ///
    /// # Errors
    /// As [`Server::add`].
    pub fn add_shared(&self, device: &Arc<Device>) -> Result<(), ServeError> {
        add(&self.registry, device)
    }

    /// Removes a device. Its clients' streams end.
    pub fn remove(&self, id: u64) -> Option<Arc<Device>> {
        self.registry.remove(id)
    }

    /// Replaces the rights of clients. Streams that are no longer allowed end.
    pub fn set_access(&self, access: Access) {
        self.registry.set_access(access);
    }
}

fn add(registry: &Registry, device: &Arc<Device>) -> Result<(), ServeError> {
    if !registry.add(device.clone()) {
        return Err(ServeError::DeviceTwice(device.id()));
    }
    if let Err(error) = device.start_notifying() {
        registry.remove(device.id());
        return Err(error.into());
    }
    Ok(())
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(runtime) = self.runtime.take() {
            // Controllers' streams do not end by themselves.
            runtime.shutdown_timeout(Duration::from_millis(500));
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .field("devices", &self.devices())
            .finish_non_exhaustive()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ServeError> {
    std::fs::read(path).map_err(|error| ServeError::File { path: path.into(), error })
}

/// An error with its causes.
fn words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}
