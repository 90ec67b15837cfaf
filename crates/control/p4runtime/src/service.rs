//! The P4Runtime service: passes each call to its device. Long work runs on threads that may block.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hopwright_dataplane::free_memory;
use prost::Message as _;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming};

use crate::access::Caller;
use crate::arbitration::{Outgoing, role_name, stream_error};
use crate::device::Device;
use crate::failure::{Failure, denied, exhausted, invalid, precondition, unimplemented};
use crate::proto::v1::{self, p4_runtime_server::P4Runtime};
use crate::registry::{Reached, Registry};
use crate::turns::Place;
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
/// How long a client may take to receive a message of an answer.
const STALL: Duration = Duration::from_secs(30);
/// How long a client may have a stream without asking for a device.
const ARBITRATION: Duration = Duration::from_secs(30);
/// Capacity of a controller's error queue; further errors are lost. Each error repeats the message that it answers.
const ERRORS_WAITING: usize = 64;
/// The longest message that an error repeats: a packet with its metadata.
const MAX_REPEATED: usize = 16 << 10;

/// Serves devices.
#[derive(Clone)]
pub(crate) struct Service {
    registry: Arc<Registry>,
    next_stream: Arc<AtomicU64>,
    /// Whether requests or streams have ended since the previous check.
    ended: Arc<AtomicBool>,
}

impl Service {
    /// A service for the devices of a registry.
    pub(crate) fn new(registry: Arc<Registry>) -> Service {
        Service { registry, next_stream: Arc::new(AtomicU64::new(1)), ended: Arc::default() }
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The device that a request is for, with what its caller may do.
    fn reach<T>(&self, request: &Request<T>, device: u64) -> Result<Reached, Status> {
        self.registry.reach(&Caller::of(request.extensions()), device).map_err(Failure::status)
    }

    /// Returns memory to the system after requests or streams have ended, as long as the server runs.
    pub(crate) fn give_memory_back(&self) -> impl Future<Output = ()> + Send + 'static {
        let ended = self.ended.clone();
        async move {
            loop {
                tokio::time::sleep(GIVE_BACK).await;
                if ended.swap(false, Ordering::Relaxed) {
                    let _ = tokio::task::spawn_blocking(free_memory::give_back).await;
                }
            }
        }
    }

    /// Runs long work for a device on a thread that may block, when it is its turn.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        device: Arc<Device>,
        work: impl FnOnce(&Device) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let turn = device.turns().wait().await;
        let ended = self.ended.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let done = work(&device);
            ended.store(true, Ordering::Relaxed);
            done
        });
        done.await.unwrap_or_else(|_| Err(Status::internal("the request could not be carried out")))
    }

    /// Evaluates a read and sends what it finds.
    async fn answer(
        &self,
        device: &Arc<Device>,
        request: v1::ReadRequest,
        to: &mpsc::Sender<Result<v1::ReadResponse, Status>>,
    ) {
        for entity in request.entities {
            let role = request.role.clone();
            let found = self.work(device.clone(), move |d| d.read(&role, &entity).map_err(Failure::status)).await;
            let found = match found {
                Ok(found) => found,
                Err(status) => {
                    let _ = to.try_send(Err(status));
                    return;
                }
            };
            let mut found = found.into_iter().map(|e| v1::Entity { entity: Some(e) }).peekable();
            while found.peek().is_some() {
                let entities = found.by_ref().take(PIECE).collect();
                // The client has gone, or has stopped reading.
                if to.send_timeout(Ok(v1::ReadResponse { entities }), STALL).await.is_err() {
                    return;
                }
            }
        }
    }
}

type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl P4Runtime for Service {
    type ReadStream = Messages<v1::ReadResponse>;
    type StreamChannelStream = Messages<v1::StreamMessageResponse>;

    async fn write(&self, request: Request<v1::WriteRequest>) -> Result<Response<v1::WriteResponse>, Status> {
        let reached = self.reach(&request, request.get_ref().device_id)?;
        let request = request.into_inner();
        reached.check_role(&role_name(&request.role, request.role_id)).map_err(Failure::status)?;
        let _place = reached.device.turns().queue(request.encoded_len()).map_err(Failure::status)?;
        self.work(reached.device, move |device| device.write(request)).await?;
        Ok(Response::new(v1::WriteResponse {}))
    }

    async fn read(&self, request: Request<v1::ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let reached = self.reach(&request, request.get_ref().device_id)?;
        let request = request.into_inner();
        reached.check_role(&request.role).map_err(Failure::status)?;
        let device = reached.device;
        let place = device.turns().queue(request.encoded_len()).map_err(Failure::status)?;
        let answer = device.turns().answer().map_err(Failure::status)?;
        let (to, from) = mpsc::channel::<Result<v1::ReadResponse, Status>>(2);
        let service = self.clone();
        tokio::spawn(async move {
            let _places = (place, answer);
            service.answer(&device, request, &to).await;
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(from))))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<v1::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::SetForwardingPipelineConfigResponse>, Status> {
        let reached = self.reach(&request, request.get_ref().device_id)?;
        let request = request.into_inner();
        reached.check_role(&role_name(&request.role, request.role_id)).map_err(Failure::status)?;
        if !reached.grant.programs {
            return Err(denied("this client may not replace the program").status());
        }
        let _place = reached.device.turns().queue(request.encoded_len()).map_err(Failure::status)?;
        self.work(reached.device, move |device| device.set_config(&request).map_err(Failure::status)).await?;
        Ok(Response::new(v1::SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<v1::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::GetForwardingPipelineConfigResponse>, Status> {
        let reached = self.reach(&request, request.get_ref().device_id)?;
        let request = request.into_inner();
        let all = reached.device.config().map_err(Failure::status)?;
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
        let caller = Caller::of(request.extensions());
        let streams = self.registry.streams(&caller).map_err(Failure::status)?;
        let place = streams.try_acquire_owned();
        let place = place.map_err(|_| exhausted("too many streams have not asked for a device yet").status())?;
        let (to, from) = mpsc::channel::<Outgoing>(WAITING);
        let id = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let channel = Channel { service: self.clone(), id, caller, device: None, role: String::new(), to };
        tokio::spawn(channel.run(request.into_inner(), place));
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
    caller: Caller,
    device: Option<Arc<Device>>,
    /// The role at the device.
    role: String,
    to: mpsc::Sender<Outgoing>,
}

impl Channel {
    /// Handles messages until the client has gone, or may no longer reach the device.
    async fn run(mut self, mut messages: Streaming<v1::StreamMessageRequest>, place: Place) {
        let mut changes = self.service.registry.changes();
        let mut place = Some(place);
        let deadline = tokio::time::sleep(ARBITRATION);
        tokio::pin!(deadline);
        loop {
            let message = tokio::select! {
                message = messages.next() => message,
                // The client has stopped reading.
                () = self.to.closed() => None,
                () = changes.next() => match self.check() {
                    Ok(()) => continue,
                    Err(failure) => {
                        let _ = self.to.try_send(Err(failure.status()));
                        None
                    }
                },
                () = &mut deadline, if place.is_some() => {
                    let _ = self.to.try_send(Err(Status::deadline_exceeded("no device was asked for in time")));
                    None
                }
            };
            let Some(Ok(message)) = message else { break };
            if let Err(failure) = self.take(message) {
                let _ = self.to.send(Err(failure.status())).await;
                break;
            }
            if self.device.is_some() {
                // From now on the device's own limit counts.
                place = None;
            }
        }
    }

    /// Checks that the client may still have what it asked for.
    fn check(&self) -> Result<(), Failure> {
        match &self.device {
            Some(device) => self.service.registry.check(&self.caller, device, &self.role),
            None => self.service.registry.streams(&self.caller).map(drop),
        }
    }

    /// Handles a message. An error ends the stream.
    fn take(&mut self, message: v1::StreamMessageRequest) -> Result<(), Failure> {
        match message.update.ok_or_else(|| invalid("an empty message"))? {
            Update::Arbitration(given) => {
                let reached = self.service.registry.reach(&self.caller, given.device_id)?;
                let role = given.role.as_ref().map(|r| role_name(&r.name, r.id)).unwrap_or_default();
                reached.check_role(&role)?;
                let device = reached.device;
                if self.device.as_ref().is_some_and(|d| d.id() != device.id()) {
                    return Err(precondition("a stream keeps its device"));
                }
                device.elections().update(device.id(), self.id, &given, &self.to)?;
                self.device = Some(device);
                self.role = role;
            }
            Update::Packet(given) => {
                if let Err(failure) = self.primary().and_then(|d| d.packet_out(&given)) {
                    let details = Details::PacketOut(v1::PacketOutError { packet_out: Some(given) });
                    self.complain(failure, Some(details));
                }
            }
            Update::DigestAck(given) => {
                if let Err(failure) = self.primary().and_then(|d| d.acknowledge(&given)) {
                    let details = v1::DigestListAckError { digest_list_ack: Some(given) };
                    self.complain(failure, Some(Details::DigestListAck(details)));
                }
            }
            Update::Other(given) => {
                let details = Details::Other(v1::StreamOtherError { other: Some(given) });
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
