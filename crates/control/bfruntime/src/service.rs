//! The gRPC service.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hopwright_control::{Entity, Update};
use hopwright_p4runtime::proto::rpc;
use hopwright_p4runtime::{Device, Devices, Failure, Packets, batch};
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Code, Request, Response, Status, Streaming};

use crate::failure::{ERROR_TYPE, Result, aborted, exhausted, exists, invalid, not_found, unimplemented};
use crate::proto::bf_runtime_server::BfRuntime;
use crate::proto::{
    self, DataField, DigestList, ReadResponse, StreamMessageResponse, Subscribe, TableData, TargetDevice,
    WriteResponse, data_field, set_forwarding_pipeline_config_request::Action, stream_message_request,
    stream_message_response, subscribe::Notifications,
};
use crate::schema::fixed::device::LEARN_TIMEOUT;
use crate::schema::{Digest, Schema, program};
use crate::state::{Change, State};
use crate::value::{numeric, small};
use crate::{hashes, programs, read, watch, write};

/// Messages that wait to be sent to a client; further ones are lost.
const WAITING: usize = 4096;
/// The most updates of the control model, and copies of packets in them, that a request may consist of. The update that exceeds it is
/// the last.
const MAX_CHANGES: usize = 1 << 21;
/// Bytes of entities from which on an answer goes on in a further message. Some clients read no further one, as Intel's server sends
/// none; others take four MiB in a message.
const PIECE: usize = 3 << 20;
/// How long a client may take to receive a message of an answer.
const STALL: Duration = Duration::from_secs(30);
/// How long a client may have a stream without subscribing.
const SUBSCRIPTION: Duration = Duration::from_secs(30);
/// The most digests that are sent together.
const MAX_LIST: usize = 1024;
/// How long digests are collected at most.
const LONGEST_LEARN_TIMEOUT: Duration = Duration::from_secs(10);
/// How often it is looked for idle entries and for ports that have lost or found their link.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);

type Sender = mpsc::Sender<std::result::Result<StreamMessageResponse, Status>>;

/// What was written to devices, by their ids, until they are gone.
type States = Arc<Mutex<HashMap<u64, (Weak<Device>, Arc<Mutex<State>>)>>>;

/// Serves devices.
#[derive(Clone)]
pub(crate) struct Service {
    devices: Devices,
    states: States,
    clients: Clients,
}

/// Subscribed clients, by device and id.
type Clients = Arc<Mutex<BTreeMap<(u64, u32), Client>>>;

/// A subscribed client, and what it wants to be notified of.
#[derive(Clone)]
struct Client {
    to: Sender,
    wants: Notifications,
    /// The id that it calls the device by: 0, if the server has one device.
    device: u32,
    /// The program that it has bound to, if it has.
    program: Option<String>,
}

/// Ends a subscription when the stream ends.
struct Subscription {
    clients: Clients,
    id: (u64, u32),
}

impl Drop for Subscription {
    fn drop(&mut self) {
        lock(&self.clients).remove(&self.id);
    }
}

impl Service {
    pub(crate) fn new(devices: Devices) -> Service {
        Service { devices, states: Arc::default(), clients: Arc::default() }
    }

    /// The device that a request is for.
    fn reach<T>(&self, request: &Request<T>, id: u32) -> std::result::Result<Arc<Device>, Status> {
        self.devices.reach(request.extensions(), u64::from(id)).map_err(Failure::status)
    }

    fn state(&self, device: &Arc<Device>) -> Arc<Mutex<State>> {
        let mut states = lock(&self.states);
        states.retain(|_, (of, _)| of.strong_count() > 0);
        states.entry(device.id()).or_insert_with(|| (Arc::downgrade(device), Arc::default())).1.clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of the device's present program.
pub(crate) fn refresh<'s>(state: &'s Mutex<State>, device: &Device, program: &str) -> Result<MutexGuard<'s, State>> {
    let mut state = lock(state);
    let known = (state.generation != 0).then_some(state.generation);
    if let Some(running) = device.running_since(known)? {
        let schema = Arc::new(program::schema(&name_of(&running.name), &running.info));
        *state = State { generation: running.generation, schema, ..State::default() };
    }
    if !program.is_empty() && state.schema.program(program).is_none() {
        let ours: Vec<&str> = state.schema.programs.iter().map(|ours| ours.name.as_str()).collect();
        return Err(not_found(format!("the device runs `{}`, not `{program}`", ours.join("`, `"))));
    }
    Ok(state)
}

/// The name of a program: that of its file without folder and extension.
pub(crate) fn name_of(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".p4").unwrap_or(name).to_string()
}

/// What a request is for: all pipes if it does not say.
fn target(target: Option<TargetDevice>) -> TargetDevice {
    let everything = TargetDevice { device_id: 0, pipe_id: write::ALL_PIPES, direction: 0xff, prsr_id: 0xff };
    target.unwrap_or(everything)
}

/// Applies updates; returns what became of each.
pub(crate) fn apply(state: &mut State, device: &Device, request: &proto::WriteRequest) -> Result<Vec<Result<()>>> {
    use proto::write_request::Atomicity as Wanted;
    let target = target(request.target);
    let packets = match Wanted::try_from(request.atomicity) {
        Ok(Wanted::ContinueOnError) => {
            let one = |update| apply_all(state, device, &target, std::slice::from_ref(update), Packets::MeetParts);
            return Ok(request.updates.iter().map(one).map(|results| results?.remove(0)).collect());
        }
        Ok(Wanted::RollbackOnError) => Packets::MeetParts,
        Ok(Wanted::DataplaneAtomic) => Packets::MeetAllOrNothing,
        Err(_) => return Err(invalid("no such atomicity")),
    };
    apply_all(state, device, &target, &request.updates, packets)
}

/// Applies all updates or none.
fn apply_all(
    state: &mut State,
    device: &Device,
    target: &TargetDevice,
    updates: &[proto::Update],
    packets: Packets,
) -> Result<Vec<Result<()>>> {
    // As from Tofino's drivers, the last result is that of the update that failed: those before it were fine, but are undone.
    let fail = |at: usize, failure: Failure| {
        let mut results = vec![Ok(()); at];
        results.push(Err(failure));
        Ok(results)
    };
    // Later updates see what earlier ones change here, but not what they change in tables.
    let (mut next, mut changes): (Option<State>, Vec<Change>) = (None, Vec::new());
    let (mut writes, mut counts, mut generators, mut size) = (Vec::new(), Vec::new(), BTreeMap::new(), 0);
    // Which writes belong to which update.
    let mut ends = Vec::new();
    for (at, update) in updates.iter().enumerate() {
        let effects = match write::effects(next.as_ref().unwrap_or(state), device, target, update) {
            Ok(effects) => effects,
            Err(failure) => return fail(at, failure),
        };
        if size > MAX_CHANGES {
            return fail(at, exhausted("the request changes too much at once: send its updates in several"));
        }
        size += effects.updates.iter().map(size_of).sum::<usize>();
        writes.extend(effects.updates);
        counts.extend(effects.counts);
        generators.extend(effects.generators);
        ends.push(writes.len());
        if at + 1 < updates.len() && !effects.changes.is_empty() {
            let next = next.get_or_insert_with(|| state.clone());
            effects.changes.iter().cloned().for_each(|change| next.apply(change));
        }
        changes.extend(effects.changes);
    }
    let hashes_only = writes.is_empty() && counts.is_empty() && generators.is_empty();
    match hashes::apply(state, device, &changes, hashes_only) {
        Ok(false) => {}
        Ok(true) => {
            // Packets are hashed so by now: nothing may be refused any more.
            changes.into_iter().for_each(|change| state.apply(change));
            return Ok(vec![Ok(()); updates.len()]);
        }
        Err(failure) => return fail(updates.len().saturating_sub(1), failure),
    }
    let begin_generators = || {
        let streams = generators.into_iter().map(|(id, stream)| (id, stream.map(|stream| *stream))).collect();
        device.tenant().generate(streams).map_err(|error| exhausted(error.to_string()))
    };
    // All that is written, until it is known what it replaces.
    let vdp = device.tenant().vdp();
    let (account, bytes) = (vdp.control().account(), changes.iter().map(Change::bytes).sum());
    if let Err(exceeded) = account.charge(bytes) {
        return fail(0, exhausted(exceeded.to_string()));
    }
    let results = device.write_batch(&writes, packets, begin_generators).inspect_err(|_| account.release(bytes))?;
    let failed = results.iter().position(|r| r.as_ref().is_err_and(|f| f.code != Code::Aborted));
    if let Some(failed) = failed {
        account.release(bytes);
        let at = ends.iter().position(|end| failed < *end).unwrap_or(0);
        let failure = results.into_iter().nth(failed).and_then(std::result::Result::err);
        return fail(at, failure.unwrap_or_else(|| aborted("the batch failed")));
    }
    counts.into_iter().for_each(write::Counting::set);
    for change in changes {
        account.release(state.replaced_bytes(&change));
        state.apply(change);
    }
    state.value_sets.clear();
    Ok(vec![Ok(()); updates.len()])
}

/// How much an update counts against [`MAX_CHANGES`].
fn size_of(update: &Update) -> usize {
    1 + match &update.entity {
        Entity::Multicast(_, group) => group.copies.len(),
        Entity::CloneSession(_, session) => session.copies.len(),
        Entity::ValueSet(_, members) => members.len(),
        _ => 0,
    }
}

/// A failure as clients that ask for it in the answer receive it.
fn error(result: &Result<()>) -> proto::Error {
    match result {
        Ok(()) => proto::Error::default(),
        Err(f) => proto::Error { canonical_code: f.code as i32, message: f.message.clone(), ..Default::default() },
    }
}

type Messages<T> = Pin<Box<dyn Stream<Item = std::result::Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl BfRuntime for Service {
    type ReadStream = Messages<ReadResponse>;
    type StreamChannelStream = Messages<StreamMessageResponse>;

    async fn write(
        &self,
        request: Request<proto::WriteRequest>,
    ) -> std::result::Result<Response<WriteResponse>, Status> {
        let device = self.reach(&request, request.get_ref().target.unwrap_or_default().device_id)?;
        let asks = |name: &str| request.metadata().get(name).is_some_and(|value| value == "1");
        let (in_answer, ignore) = (asks("error_in_resp"), asks("ignore_not_found"));
        let request = request.into_inner();
        let (bytes, state) = (request.encoded_len(), self.state(&device));
        let results = self.devices.work(device, bytes, move |device| {
            let mut state = refresh(&state, device, &request.p4_name).map_err(Failure::status)?;
            let results = apply(&mut state, device, &request).map_err(Failure::status);
            device.note_beside(state.generation, state.beside());
            results
        });
        let results = results.await?;
        let counts = |r: &Result<()>| r.as_ref().is_err_and(|f| !(ignore && f.code == Code::NotFound));
        if results.iter().any(counts) && !in_answer {
            return Err(batch(&results, "updates", ERROR_TYPE));
        }
        let status = if in_answer || ignore { results.iter().map(error).collect() } else { Vec::new() };
        Ok(Response::new(WriteResponse { status }))
    }

    async fn read(
        &self,
        request: Request<proto::ReadRequest>,
    ) -> std::result::Result<Response<Self::ReadStream>, Status> {
        let device = self.reach(&request, request.get_ref().target.unwrap_or_default().device_id)?;
        let in_answer = request.metadata().get("error_in_resp").is_some_and(|value| value == "1");
        let request = request.into_inner();
        let (bytes, state) = (request.encoded_len(), self.state(&device));
        let answer = self.devices.answer(&device).map_err(Failure::status)?;
        let devices = self.devices.clone();
        let place = self.devices.place(&device, bytes).map_err(Failure::status)?;
        let (to, from) = mpsc::channel(2);
        tokio::spawn(async move {
            let _places = (place, answer);
            let mut results = Vec::new();
            let (mut entities, mut bytes) = (Vec::new(), 0);
            for asked in request.entities {
                // No more than one answer and a message are in memory at a time.
                let (state, program, pipe) = (state.clone(), request.p4_name.clone(), target(request.target).pipe_id);
                let found = devices.work(device.clone(), 0, move |device| {
                    let mut state = refresh(&state, device, &program).map_err(Failure::status)?;
                    Ok(read::find(&mut state, device, pipe, &asked))
                });
                let found = match found.await {
                    Ok(Ok(found)) => found,
                    Ok(Err(failure)) => {
                        results.push(Err(failure));
                        continue;
                    }
                    Err(status) => {
                        let _ = to.send_timeout(Err(status), STALL).await;
                        return;
                    }
                };
                results.push(Ok(()));
                for entity in found {
                    let entity = proto::Entity { entity: Some(entity) };
                    bytes += entity.encoded_len();
                    entities.push(entity);
                    if bytes >= PIECE {
                        let piece = ReadResponse { entities: std::mem::take(&mut entities), status: Vec::new() };
                        // The client has gone, or has stopped reading.
                        if to.send_timeout(Ok(piece), STALL).await.is_err() {
                            return;
                        }
                        bytes = 0;
                    }
                }
            }
            let failed = results.iter().any(Result::is_err);
            let status = if failed && in_answer { results.iter().map(error).collect() } else { Vec::new() };
            let last = to.send_timeout(Ok(ReadResponse { entities, status }), STALL).await;
            // What was found has been sent.
            if failed && !in_answer && last.is_ok() {
                let _ = to.send_timeout(Err(batch(&results, "entities", ERROR_TYPE)), STALL).await;
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(from))))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<proto::SetForwardingPipelineConfigRequest>,
    ) -> std::result::Result<Response<proto::SetForwardingPipelineConfigResponse>, Status> {
        use proto::SetForwardingPipelineConfigResponseType::WarmInitFinished;
        let device = self.reach(&request, request.get_ref().device_id)?;
        let action = Action::try_from(request.get_ref().action);
        let action = action.map_err(|_| invalid("no such action").status())?;
        if action != Action::Bind {
            self.devices.check_push(request.extensions(), &device).map_err(Failure::status)?;
        }
        let request = request.into_inner();
        let (id, bytes, state) = (device.id(), request.encoded_len(), self.state(&device));
        let bound = (action == Action::Bind).then(|| request.config.first().map(|config| config.p4_name.clone()));
        let client = (id, request.client_id);
        let done = self.devices.work(device, bytes, move |device| {
            configure(&state, device, action, &request.config).map_err(Failure::status)
        });
        done.await?;
        if let Some(program) = bound
            && let Some(client) = lock(&self.clients).get_mut(&client)
        {
            client.program = program;
        }
        let answer = proto::SetForwardingPipelineConfigResponse {
            set_forwarding_pipeline_config_response_type: WarmInitFinished as i32,
        };
        if action == Action::VerifyAndWarmInitBeginAndEnd {
            let update = stream_message_response::Update::SetForwardingPipelineConfigResponse(answer);
            for (_, client) in lock(&self.clients).range((id, 0)..=(id, u32::MAX)) {
                let _ = client.to.try_send(Ok(StreamMessageResponse { update: Some(update.clone()) }));
            }
        }
        Ok(Response::new(answer))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<proto::GetForwardingPipelineConfigRequest>,
    ) -> std::result::Result<Response<proto::GetForwardingPipelineConfigResponse>, Status> {
        let device = self.reach(&request, request.get_ref().device_id)?;
        let (bytes, state) = (request.get_ref().encoded_len(), self.state(&device));
        let answer = self.devices.work(device, bytes, move |device| {
            let state = refresh(&state, device, "").map_err(Failure::status)?;
            let schema = &state.schema;
            Ok(proto::GetForwardingPipelineConfigResponse {
                config: programs::configs(schema, &device.device_config().map_err(Failure::status)?),
                non_p4_config: Some(proto::NonP4Config {
                    bfruntime_info: schema.fixed_document().to_string().into_bytes(),
                }),
            })
        });
        Ok(Response::new(answer.await?))
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<proto::StreamMessageRequest>>,
    ) -> std::result::Result<Response<Self::StreamChannelStream>, Status> {
        let place = self.devices.stream(request.extensions()).map_err(Failure::status)?;
        let extensions = request.extensions().clone();
        let mut incoming = request.into_inner();
        let (to, from) = mpsc::channel(WAITING);
        let service = self.clone();
        tokio::spawn(async move {
            let _place = place;
            let first = tokio::time::timeout(SUBSCRIPTION, incoming.next()).await;
            let Ok(Some(Ok(first))) = first else { return };
            let reached = |id| service.devices.reach(&extensions, id);
            let (subscription, device) = match service.subscribe(&first, &to, reached) {
                Ok(subscribed) => subscribed,
                Err(failure) => {
                    let _ = to.try_send(Err(failure.status()));
                    return;
                }
            };
            let wants = wants(&first);
            let digests = if wants.enable_learn_notifications { Some(device.listen_to_digests()) } else { None };
            let notify = service.notify(device.clone(), subscription.id, digests, to.clone());
            let watch = service.watch(device.clone(), wants);
            let receive = async {
                while let Some(Ok(message)) = incoming.next().await {
                    // Lists need no acknowledgement. A further subscription is answered like the first.
                    if let Some(stream_message_request::Update::Subscribe(subscribe)) = message.update {
                        let _ = to.try_send(Ok(accepted(&subscribe)));
                    }
                }
            };
            tokio::select! {
                () = notify => {}
                () = watch => {}
                () = receive => {}
                () = to.closed() => {}
                () = service.devices.revoked(&extensions, &device) => {
                    let _ = to.try_send(Err(not_found("the device can no longer be reached").status()));
                }
            }
            drop(subscription);
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(from))))
    }
}

/// The answer to a subscription.
fn accepted(request: &Subscribe) -> StreamMessageResponse {
    let subscribe = Subscribe { status: Some(rpc::Status::default()), ..request.clone() };
    StreamMessageResponse { update: Some(stream_message_response::Update::Subscribe(subscribe)) }
}

/// What a client wants to be notified of.
fn wants(first: &proto::StreamMessageRequest) -> Notifications {
    match &first.update {
        Some(stream_message_request::Update::Subscribe(subscribe)) => subscribe.notifications.unwrap_or_default(),
        _ => Notifications::default(),
    }
}

impl Service {
    /// Notifies clients of what changes without them, as long as one is there that wants to be.
    async fn watch(&self, device: Arc<Device>, wants: Notifications) {
        let idle = wants.enable_idletimeout_notifications || wants.enable_entry_active_notifications;
        if !idle && !wants.enable_port_status_change_notifications {
            return std::future::pending().await;
        }
        let state = self.state(&device);
        loop {
            tokio::time::sleep(WATCH_INTERVAL).await;
            let Ok(mut state) = refresh(&state, &device, "") else { continue };
            let found = watch::changes(&mut state, &device);
            drop(state);
            for (_, client) in lock(&self.clients).range((device.id(), 0)..=(device.id(), u32::MAX)) {
                for update in found.iter().filter(|update| watch::concerns(update, &client.wants)) {
                    // A client that does not read loses notifications.
                    let mut update = update.clone();
                    watch::tell_device(&mut update, client.device);
                    let _ = client.to.try_send(Ok(StreamMessageResponse { update: Some(update) }));
                }
            }
        }
    }

    /// Subscribes a client and tells it so.
    fn subscribe(
        &self,
        first: &proto::StreamMessageRequest,
        to: &Sender,
        reach: impl Fn(u64) -> Result<Arc<Device>>,
    ) -> Result<(Subscription, Arc<Device>)> {
        let Some(stream_message_request::Update::Subscribe(subscribe)) = &first.update else {
            return Err(invalid("the first message of a stream is a subscription"));
        };
        let device = reach(u64::from(subscribe.device_id))?;
        let mut clients = lock(&self.clients);
        let id = (device.id(), first.client_id);
        if clients.contains_key(&id) {
            return Err(exists(format!("there is a client {} already", first.client_id)));
        }
        clients.insert(id, Client { to: to.clone(), wants: wants(first), device: subscribe.device_id, program: None });
        drop(clients);
        let subscription = Subscription { clients: self.clients.clone(), id };
        let _ = to.try_send(Ok(accepted(subscribe)));
        Ok((subscription, device))
    }

    /// Sends digests to a client, as long as the device is there: those of the program that it has bound to, or all.
    async fn notify(
        &self,
        device: Arc<Device>,
        client: (u64, u32),
        digests: Option<mpsc::Receiver<hopwright_dataplane::Digest>>,
        to: Sender,
    ) {
        let Some(mut digests) = digests else { return std::future::pending().await };
        let state = self.state(&device);
        let mut list_id = 0u32;
        while let Some(first) = digests.recv().await {
            let delay = learn_timeout(&lock(&state));
            tokio::time::sleep(delay).await;
            let mut collected = vec![first];
            while collected.len() < MAX_LIST
                && let Ok(next) = digests.try_recv()
            {
                collected.push(next);
            }
            let Ok(schema) = refresh(&state, &device, "").map(|state| state.schema.clone()) else { continue };
            let Some((called, program)) =
                lock(&self.clients).get(&client).map(|client| (client.device, client.program.clone()))
            else {
                return;
            };
            let program = program.and_then(|name| schema.program(&name));
            let digests = program.map_or(0..schema.digests.len(), |program| program.digests.clone());
            for known in &schema.digests[digests] {
                let data: Vec<TableData> =
                    collected.iter().filter(|d| d.name == known.object).map(|d| digest_data(known, d)).collect();
                if data.is_empty() {
                    continue;
                }
                list_id = list_id.wrapping_add(1);
                let target = Some(TargetDevice { device_id: called, pipe_id: pipe_of(&schema), ..Default::default() });
                let list = DigestList { digest_id: known.id, list_id, data, target };
                let update = Some(stream_message_response::Update::Digest(list));
                // A client that does not read loses lists.
                let _ = to.try_send(Ok(StreamMessageResponse { update }));
            }
        }
    }
}

/// The pipe that digests come from: the only one, or any.
fn pipe_of(schema: &Schema) -> u32 {
    if schema.pipes == 1 { 0 } else { write::ALL_PIPES }
}

/// How long digests are collected before they are sent together.
fn learn_timeout(state: &State) -> Duration {
    let set = state.device.iter().find(|f| f.field_id == LEARN_TIMEOUT).and_then(|f| f.value.as_ref());
    let microseconds = match set {
        Some(data_field::Value::Stream(bytes)) => small("", 32, bytes).unwrap_or_default(),
        _ => write::LEARN_TIMEOUT.into(),
    };
    Duration::from_micros(microseconds).min(LONGEST_LEARN_TIMEOUT)
}

fn digest_data(known: &Digest, digest: &hopwright_dataplane::Digest) -> TableData {
    let fields: Vec<DataField> =
        known.fields.iter().zip(&digest.data).map(|(field, value)| numeric(field.id, field.ty, &value.bits)).collect();
    TableData { action_id: 0, fields }
}

/// Carries out a request for the program, or the programs.
pub(crate) fn configure(
    state: &Mutex<State>,
    device: &Device,
    action: Action,
    configs: &[proto::ForwardingPipelineConfig],
) -> Result<()> {
    match action {
        Action::Bind => match configs {
            [config] => refresh(state, device, &config.p4_name).map(drop),
            _ => Err(invalid("a client binds to one program")),
        },
        Action::Verify => device.verify(&programs::device_config(configs)?),
        Action::VerifyAndWarmInitBeginAndEnd => device.replace_program(&programs::device_config(configs)?),
        Action::VerifyAndWarmInitBegin | Action::WarmInitEnd | Action::ReconcileAndWarmInitEnd => {
            Err(unimplemented("programs are replaced in one step: VERIFY_AND_WARM_INIT_BEGIN_AND_END"))
        }
    }
}
