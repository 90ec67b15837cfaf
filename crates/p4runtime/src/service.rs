//! The P4Runtime service: passes each call to its device. Long work runs on threads that may block.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming};

use crate::arbitration::{Outgoing, stream_error};
use crate::device::Device;
use crate::failure::{Failure, denied, exhausted, invalid, not_found, precondition, unimplemented};
use crate::memory;
use crate::proto::v1::{self, p4_runtime_server::P4Runtime};
use v1::get_forwarding_pipeline_config_request::ResponseType;
use v1::stream_error::Details;
use v1::stream_message_request::Update;

/// How often to check whether there is memory to return.
const GIVE_BACK: Duration = Duration::from_secs(1);
/// The version of the specification.
const VERSION: &str = "1.5.0";
/// Capacity of a controller's message queue; further messages are lost.
const WAITING: usize = 4096;
/// The most entities in one message of an answer.
const PIECE: usize = 512;
/// The most simultaneous calls that read, write or compile; others wait.
const AT_A_TIME: usize = 4;
/// Capacity of a controller's error queue; further errors are lost. Each error repeats the message that it answers.
const ERRORS_WAITING: usize = 64;
/// The longest message that an error repeats: a packet with its metadata.
const MAX_REPEATED: usize = 16 << 10;
/// The most streams of all devices.
const MAX_STREAMS: usize = 256;

/// Serves devices.
#[derive(Clone)]
pub(crate) struct Service {
    devices: Arc<BTreeMap<u64, Arc<Device>>>,
    work: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    next_stream: Arc<AtomicU64>,
    /// Whether requests or streams have ended since the previous check.
    ended: Arc<AtomicBool>,
}

impl Service {
    /// A service for these devices.
    pub(crate) fn new(devices: impl IntoIterator<Item = Arc<Device>>) -> Service {
        Service {
            devices: Arc::new(devices.into_iter().map(|d| (d.id(), d)).collect()),
            work: Arc::new(Semaphore::new(AT_A_TIME)),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            next_stream: Arc::new(AtomicU64::new(1)),
            ended: Arc::default(),
        }
    }

    pub(crate) fn device(&self, id: u64) -> Result<Arc<Device>, Failure> {
        self.devices.get(&id).cloned().ok_or_else(|| not_found(format!("there is no device {id}")))
    }

    /// Returns memory to the system after requests or streams have ended, as long as the server runs.
    pub(crate) fn give_memory_back(&self) -> impl Future<Output = ()> + Send + 'static {
        let ended = self.ended.clone();
        async move {
            loop {
                tokio::time::sleep(GIVE_BACK).await;
                if ended.swap(false, Ordering::Relaxed) {
                    let _ = tokio::task::spawn_blocking(memory::give_back).await;
                }
            }
        }
    }

    /// Runs long work on a thread that may block.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let permit = self.work.clone().acquire_owned().await;
        let ended = self.ended.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let done = work();
            ended.store(true, Ordering::Relaxed);
            done
        });
        done.await.unwrap_or_else(|_| Err(Status::internal("the request could not be carried out")))
    }
}

type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl P4Runtime for Service {
    type ReadStream = Messages<v1::ReadResponse>;
    type StreamChannelStream = Messages<v1::StreamMessageResponse>;

    async fn write(&self, request: Request<v1::WriteRequest>) -> Result<Response<v1::WriteResponse>, Status> {
        let request = request.into_inner();
        let device = self.device(request.device_id).map_err(Failure::status)?;
        self.work(move || device.write(&request)).await?;
        Ok(Response::new(v1::WriteResponse {}))
    }

    async fn read(&self, request: Request<v1::ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let request = request.into_inner();
        let device = self.device(request.device_id).map_err(Failure::status)?;
        let (to, from) = mpsc::channel::<Result<v1::ReadResponse, Status>>(2);
        let permit = self.work.clone().acquire_owned().await;
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            for entity in &request.entities {
                let found = match device.read(&request.role, entity) {
                    Ok(found) => found,
                    Err(failure) => {
                        let _ = to.blocking_send(Err(failure.status()));
                        return;
                    }
                };
                let mut found = found.into_iter().map(|e| v1::Entity { entity: Some(e) }).peekable();
                while found.peek().is_some() {
                    let entities = found.by_ref().take(PIECE).collect();
                    if to.blocking_send(Ok(v1::ReadResponse { entities })).is_err() {
                        // The client has gone.
                        return;
                    }
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(from))))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<v1::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::SetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        let device = self.device(request.device_id).map_err(Failure::status)?;
        self.work(move || device.set_config(&request).map_err(Failure::status)).await?;
        Ok(Response::new(v1::SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<v1::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::GetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        let device = self.device(request.device_id).map_err(Failure::status)?;
        let all = device.config().map_err(Failure::status)?;
        let mut config = v1::ForwardingPipelineConfig { cookie: all.cookie, ..Default::default() };
        match ResponseType::try_from(request.response_type) {
            Ok(ResponseType::All) => config = all,
            Ok(ResponseType::CookieOnly) => {}
            Ok(ResponseType::P4infoAndCookie) => config.p4info = all.p4info,
            Ok(ResponseType::DeviceConfigAndCookie) => config.p4_device_config = all.p4_device_config,
            Err(_) => return Err(invalid("no such response type").status()),
        }
        Ok(Response::new(v1::GetForwardingPipelineConfigResponse { config: Some(config) }))
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<v1::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let permit = self.streams.clone().try_acquire_owned();
        let permit = permit.map_err(|_| exhausted(format!("there are {MAX_STREAMS} streams already")).status())?;
        let (to, from) = mpsc::channel::<Outgoing>(WAITING);
        let mut channel =
            Channel { service: self.clone(), id: self.next_stream.fetch_add(1, Ordering::Relaxed), device: None, to };
        let mut messages = request.into_inner();
        tokio::spawn(async move {
            let _permit = permit;
            loop {
                let message = tokio::select! {
                    message = messages.next() => message,
                    // The client has stopped reading.
                    () = channel.to.closed() => None,
                };
                let Some(Ok(message)) = message else { break };
                if let Err(failure) = channel.take(message) {
                    let _ = channel.to.send(Err(failure.status())).await;
                    break;
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(from))))
    }

    async fn capabilities(
        &self,
        _request: Request<v1::CapabilitiesRequest>,
    ) -> Result<Response<v1::CapabilitiesResponse>, Status> {
        let p4runtime_api_version = VERSION.to_string();
        Ok(Response::new(v1::CapabilitiesResponse { p4runtime_api_version, experimental: None }))
    }
}

/// One controller's stream.
struct Channel {
    service: Service,
    id: u64,
    device: Option<Arc<Device>>,
    to: mpsc::Sender<Outgoing>,
}

impl Channel {
    /// Handles a message. An error ends the stream.
    fn take(&mut self, message: v1::StreamMessageRequest) -> Result<(), Failure> {
        match message.update.ok_or_else(|| invalid("an empty message"))? {
            Update::Arbitration(said) => {
                let device = self.service.device(said.device_id)?;
                if self.device.as_ref().is_some_and(|d| d.id() != device.id()) {
                    return Err(precondition("a stream keeps its device"));
                }
                device.elections().update(device.id(), self.id, &said, &self.to)?;
                self.device = Some(device);
            }
            Update::Packet(said) => {
                if let Err(failure) = self.primary().and_then(|d| d.packet_out(&said)) {
                    let details = Details::PacketOut(v1::PacketOutError { packet_out: Some(said) });
                    self.complain(failure, Some(details));
                }
            }
            Update::DigestAck(said) => {
                if let Err(failure) = self.primary().and_then(|d| d.acknowledge(&said)) {
                    let details = v1::DigestListAckError { digest_list_ack: Some(said) };
                    self.complain(failure, Some(Details::DigestListAck(details)));
                }
            }
            Update::Other(said) => {
                let details = Details::Other(v1::StreamOtherError { other: Some(said) });
                self.complain(unimplemented("messages of other architectures are not supported"), Some(details));
            }
        }
        Ok(())
    }

    fn primary(&self) -> Result<&Arc<Device>, Failure> {
        let device = self.device.as_ref().ok_or_else(|| precondition("arbitrate first"))?;
        if device.elections().is_primary(self.id) { Ok(device) } else { Err(denied("not the primary")) }
    }

    fn complain(&self, failure: Failure, details: Option<Details>) {
        // A client that does not read its errors loses them.
        if self.to.max_capacity() - self.to.capacity() < ERRORS_WAITING {
            let _ = self.to.try_send(Ok(stream_error(failure, details.filter(|d| d.encoded_len() <= MAX_REPEATED))));
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        if let Some(device) = &self.device {
            device.elections().leave(device.id(), self.id);
        }
        self.service.ended.store(true, Ordering::Relaxed);
    }
}
