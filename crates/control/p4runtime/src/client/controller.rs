//! A controller: drives a switch elsewhere, in a thread of its own, until it is dropped.
//!
//! It connects, takes part in the election, and waits as a standby while another controller is primary. When it is primary it sees to
//! the program, reads what the switch has, and makes it equal to a [`Replica`], again after each change. Packets go both ways meanwhile.
//! After a failure it begins anew: nothing that was written before is assumed.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;
use tonic::transport::Channel;

use super::{
    Answers, BATCH, ClientError, ClientOptions, ClientTls, MAX_MESSAGE, PATIENCE, Result, Said, channel, config,
    failed_updates,
};
use crate::arbitration::{number, wire};
use crate::proto::v1;
use crate::replica::{Replica, canonical, changes};
use v1::entity::Entity;
use v1::get_forwarding_pipeline_config_request::ResponseType;
use v1::p4_runtime_client::P4RuntimeClient;
use v1::set_forwarding_pipeline_config_request::Action;
use v1::stream_message_request::Update as Request;
use v1::stream_message_response::Update as Received;
use v1::update::Type;

/// Packets that wait to be sent, at most.
const WAITING: usize = 4096;
/// Interval between attempts to connect: the first one, and the longest one.
const AGAIN: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(2);
/// Interval between attempts to write what the switch has refused.
const REFUSED_AGAIN: Duration = Duration::from_secs(1);
/// How often counters are read.
const COUNTS: Duration = Duration::from_secs(1);
/// How long the last packets and updates may take.
const LAST: Duration = Duration::from_secs(2);

/// Which switch, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerOptions {
    /// `HOST:PORT`.
    pub server: String,
    /// The device id.
    pub device: u64,
    /// The election id to begin with. A controller whose id is above that of the primary takes over from it; any other stands by,
    /// and takes the next id when the primary has gone.
    pub election_id: u128,
    /// Encryption.
    pub tls: Option<ClientTls>,
    /// What to do with the switch's program.
    pub pipeline: PipelinePolicy,
    /// How long entries of a controller before are left alone at first, unless the owner wants all of them again. Packets need not be lost
    /// because a controller restarts.
    pub hold: Duration,
}

/// What a controller does if the switch runs another program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PipelinePolicy {
    /// It sets its own.
    #[default]
    Push,
    /// It needs one with the same objects.
    Check,
}

/// Where a controller stands with its switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mastership {
    /// There is no connection.
    #[default]
    Unreachable,
    /// Another controller is primary.
    Standby,
    /// It drives the switch.
    Primary,
}

/// What the thread and its owner share.
#[derive(Debug, Default)]
struct Shared {
    mastership: AtomicU8,
    updates: AtomicU64,
    refused: AtomicU64,
    /// The failure that was logged last; empty since it has been primary.
    failure: Mutex<String>,
}

impl Shared {
    fn set(&self, mastership: Mastership) {
        self.mastership.store(mastership as u8, Ordering::Release);
    }

    fn failure(&self) -> MutexGuard<'_, String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A controller at work.
#[derive(Debug)]
pub struct Controller {
    replica: Arc<Replica>,
    wanted: watch::Sender<Option<Vec<Entity>>>,
    packets: Option<mpsc::Sender<v1::PacketOut>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Controller {
    /// Starts to drive a switch. `receive` gets each packet that the program sends to its CPU port, with the program's header.
    ///
    /// # Errors
    /// There is no thread.
    pub fn start(
        options: ControllerOptions,
        replica: Arc<Replica>,
        receive: impl Fn(Vec<u8>) + Send + 'static,
    ) -> std::io::Result<Controller> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (wanted, wants) = watch::channel(None);
        let (packets, outgoing) = mpsc::channel(WAITING);
        let shared = Arc::new(Shared::default());
        let task = Task {
            replica: replica.clone(),
            receive: Box::new(receive),
            wants,
            outgoing,
            hold: Some(options.hold),
            options,
            shared: shared.clone(),
        };
        let thread = std::thread::Builder::new().name("controller".into());
        let thread = thread.spawn(move || runtime.block_on(task.run()))?;
        Ok(Controller { replica, wanted, packets: Some(packets), shared, thread: Some(thread) })
    }

    /// Makes the switch equal to the replica as it is now.
    ///
    /// # Errors
    /// Something has no form in P4Runtime.
    pub fn update(&self) -> Result<()> {
        let entities = self.replica.entities().map_err(|failure| ClientError::Text(failure.message))?;
        self.wanted.send_replace(Some(entities));
        Ok(())
    }

    /// Sends a packet with the program's header. Returns whether it has been taken: not unless the controller is primary.
    pub fn packet_out(&self, packet: &[u8]) -> bool {
        let Some(packets) = self.packets.as_ref().filter(|_| self.mastership() == Mastership::Primary) else {
            return false;
        };
        let Ok(place) = packets.try_reserve() else { return false };
        let packet = self.replica.packet_out(packet);
        packet.map(|packet| place.send(packet)).is_some()
    }

    /// Where it stands.
    pub fn mastership(&self) -> Mastership {
        let known = [Mastership::Unreachable, Mastership::Standby, Mastership::Primary];
        known.get(usize::from(self.shared.mastership.load(Ordering::Acquire))).copied().unwrap_or_default()
    }

    /// Why it does not drive the switch, if something has failed since it was primary last.
    pub fn failure(&self) -> Option<String> {
        Some(self.shared.failure().clone()).filter(|failure| !failure.is_empty())
    }

    /// Updates that the switch has made, and that it has refused.
    pub fn counts(&self) -> (u64, u64) {
        (self.shared.updates.load(Ordering::Relaxed), self.shared.refused.load(Ordering::Relaxed))
    }
}

impl Drop for Controller {
    /// Sends the packets that wait, takes the entries off the switch, and leaves the election.
    fn drop(&mut self) {
        self.wanted.send_replace(Some(Vec::new()));
        self.packets = None;
        if let Some(thread) = self.thread.take() {
            // It has logged why it died.
            let _ = thread.join();
        }
    }
}

struct Task {
    options: ControllerOptions,
    /// Of the first time that it is primary.
    hold: Option<Duration>,
    replica: Arc<Replica>,
    receive: Box<dyn Fn(Vec<u8>) + Send>,
    /// Nothing until the owner has written something.
    wants: watch::Receiver<Option<Vec<Entity>>>,
    outgoing: mpsc::Receiver<v1::PacketOut>,
    shared: Arc<Shared>,
}

/// How being primary ended.
enum End {
    /// Another controller took over.
    Demoted,
    /// The owner wants no more.
    Stopped,
}

/// The connection to a switch.
struct Session {
    stub: P4RuntimeClient<Channel>,
    to: Said,
    answers: Answers,
    election_id: u128,
}

impl Task {
    async fn run(mut self) {
        let mut wait = AGAIN;
        loop {
            let begin = Instant::now();
            let ended = self.session().await;
            self.shared.set(Mastership::Unreachable);
            let Err(error) = ended else { return };
            let error = match error {
                // Without the advice for the command line.
                ClientError::Unreachable { reason, .. } => format!("cannot reach the switch: {reason}"),
                other => other.to_string(),
            };
            let known = std::mem::replace(&mut *self.shared.failure(), error.clone());
            if error != known {
                tracing::warn!(server = self.options.server, "{error}");
            }
            if begin.elapsed() > LONGEST {
                wait = AGAIN;
            }
            // Packets of now are none of later.
            let pause = tokio::time::sleep(wait);
            tokio::pin!(pause);
            loop {
                tokio::select! {
                    () = &mut pause => break,
                    packet = self.outgoing.recv() => if packet.is_none() { return },
                }
            }
            wait = (wait * 2).min(LONGEST);
        }
    }

    /// Drives the switch until the owner stops it, or something fails.
    async fn session(&mut self) -> Result<()> {
        let ControllerOptions { server, device, tls, .. } = self.options.clone();
        let channel = channel(&ClientOptions { server, device, tls, force: false }).await?;
        let mut stub =
            P4RuntimeClient::new(channel).max_decoding_message_size(MAX_MESSAGE).max_encoding_message_size(MAX_MESSAGE);
        let (to, from) = mpsc::channel(WAITING);
        // First it looks who is there.
        arbitrate(&to, device, None).await?;
        let answers = tokio::time::timeout(PATIENCE, stub.stream_channel(ReceiverStream::new(from))).await;
        let answers = answers.map_err(|_| ClientError::Silent)??.into_inner();
        let mut session = Session { stub, to, answers, election_id: 0 };
        loop {
            if !self.stand_by(&mut session).await? {
                return Ok(());
            }
            self.see_to_the_program(&mut session).await?;
            // The program is ready to send what there is to receive, and the owner need not wait for entries.
            self.shared.set(Mastership::Primary);
            self.shared.failure().clear();
            tracing::info!(server = self.options.server, election_id = %session.election_id, "primary at the switch");
            let hold = self.hold.take().unwrap_or_default();
            let Session { stub, to, answers, election_id: id } = &mut session;
            let mut writer =
                Writer { replica: &self.replica, shared: &self.shared, device, id: *id, stub: stub.clone() };
            let end = tokio::select! {
                end = packets(&self.replica, &*self.receive, &mut self.outgoing, to, answers) => end?,
                failed = writer.follow(&mut self.wants, hold) => return Err(failed),
            };
            match end {
                End::Demoted => {
                    self.shared.set(Mastership::Standby);
                    arbitrate(&session.to, device, None).await?;
                    tracing::warn!(server = self.options.server, "another controller is primary at the switch now");
                }
                End::Stopped => {
                    let last = async {
                        let there = writer.read().await?;
                        let wanted = self.wants.borrow_and_update().clone().unwrap_or_default();
                        writer.write(changes(&there, &wanted)).await
                    };
                    tokio::time::timeout(LAST, last).await.map_err(|_| ClientError::Silent)??;
                    leave(session).await;
                    return Ok(());
                }
            }
        }
    }

    /// Waits until this controller is primary; returns whether it is, or the owner has stopped it.
    async fn stand_by(&mut self, session: &mut Session) -> Result<bool> {
        loop {
            tokio::select! {
                message = session.answers.message() => match message?.ok_or(ClientError::Gone)?.update {
                    Some(Received::Arbitration(answer)) => {
                        let highest = answer.election_id.as_ref().map(number);
                        let next = highest.map_or(0, |highest| highest.saturating_add(1)).max(self.options.election_id);
                        match Code::from_i32(answer.status.map_or(0, |status| status.code)) {
                            Code::Ok => return Ok(true),
                            code if code == Code::NotFound || highest < Some(self.options.election_id) => {
                                session.election_id = next;
                                arbitrate(&session.to, self.options.device, Some(next)).await?;
                            }
                            _ => {
                                self.shared.set(Mastership::Standby);
                                tracing::info!(server = self.options.server, primary = ?highest, "standby at the switch");
                            }
                        }
                    }
                    _ => continue,
                },
                packet = self.outgoing.recv() => if packet.is_none() {
                    return Ok(false);
                },
            }
        }
    }

    /// Sets the program, or checks that of the switch.
    async fn see_to_the_program(&self, session: &mut Session) -> Result<()> {
        let (device, ours) = (self.options.device, self.replica.config());
        let there = match config(&mut session.stub, device, ResponseType::P4infoAndCookie).await {
            Ok(there) => Some(there),
            Err(ClientError::NoProgram) => None,
            Err(error) => return Err(error),
        };
        if there.as_ref().is_some_and(|there| there.cookie.is_some() && there.cookie == ours.cookie) {
            return Ok(());
        }
        if self.options.pipeline == PipelinePolicy::Check {
            let info = there.and_then(|there| there.p4info).ok_or(ClientError::NoProgram)?;
            return self.replica.check_info(&info).map_err(|failure| ClientError::Text(failure.message));
        }
        let request = v1::SetForwardingPipelineConfigRequest {
            device_id: device,
            election_id: Some(wire(session.election_id)),
            action: Action::VerifyAndCommit.into(),
            config: Some(ours.clone()),
            ..Default::default()
        };
        session.stub.set_forwarding_pipeline_config(request).await?;
        tracing::info!(server = self.options.server, "the switch has been given the program");
        Ok(())
    }
}

/// Takes part in the election; without an id only to hear of it.
async fn arbitrate(to: &Said, device_id: u64, election_id: Option<u128>) -> Result<()> {
    let election_id = election_id.map(wire);
    let update = v1::MasterArbitrationUpdate { device_id, election_id, ..Default::default() };
    let message = v1::StreamMessageRequest { update: Some(Request::Arbitration(update)) };
    to.send(message).await.map_err(|_| ClientError::Gone)
}

/// Moves packets until another controller is primary, or the owner has sent its last one.
async fn packets(
    replica: &Replica,
    receive: &(dyn Fn(Vec<u8>) + Send),
    outgoing: &mut mpsc::Receiver<v1::PacketOut>,
    to: &Said,
    answers: &mut Answers,
) -> Result<End> {
    loop {
        tokio::select! {
            message = answers.message() => match message?.ok_or(ClientError::Gone)?.update {
                Some(Received::Packet(packet)) => match replica.packet_in(&packet) {
                    Ok(packet) => receive(packet),
                    Err(failure) => tracing::debug!("{}", failure.message),
                },
                Some(Received::Arbitration(answer)) if answer.status.as_ref().is_some_and(|status| status.code != 0) => {
                    return Ok(End::Demoted);
                }
                Some(Received::Error(error)) => tracing::debug!("the switch refuses a packet: {}", error.message),
                _ => {}
            },
            packet = outgoing.recv() => match packet {
                Some(packet) => {
                    let message = v1::StreamMessageRequest { update: Some(Request::Packet(packet)) };
                    to.send(message).await.map_err(|_| ClientError::Gone)?;
                }
                None => return Ok(End::Stopped),
            },
        }
    }
}

/// Ends the stream after what was sent, and waits until the switch has received it.
async fn leave(session: Session) {
    let Session { to, mut answers, .. } = session;
    drop(to);
    let end = async { while let Ok(Some(_)) = answers.message().await {} };
    // Who does not answer does not matter any more.
    let _ = tokio::time::timeout(LAST, end).await;
}

/// Writes entities as primary.
struct Writer<'a> {
    replica: &'a Replica,
    shared: &'a Shared,
    device: u64,
    id: u128,
    stub: P4RuntimeClient<Channel>,
}

impl Writer<'_> {
    /// Makes the switch equal to what is wanted, again and again.
    async fn follow(&mut self, wants: &mut watch::Receiver<Option<Vec<Entity>>>, hold: Duration) -> ClientError {
        let held = Instant::now() + hold;
        loop {
            let mut there = match self.read().await {
                Ok(there) => there,
                Err(error) => return error,
            };
            loop {
                let wanted = wants.borrow_and_update().clone();
                let updates = wanted.as_ref().map(|wanted| changes(&there, wanted)).unwrap_or_default();
                let left = held.saturating_duration_since(Instant::now());
                let waits = !left.is_zero() && updates.iter().any(|update| update.r#type() == Type::Delete);
                if let Some(wanted) = wanted.filter(|_| !waits) {
                    match self.write(updates).await {
                        Ok(()) => there = wanted,
                        Err(refused @ ClientError::Updates { .. }) => {
                            tracing::error!("{refused}");
                            tokio::time::sleep(REFUSED_AGAIN).await;
                            break;
                        }
                        Err(error) => return error,
                    }
                }
                if let Err(error) = self.wait(wants, waits.then_some(left)).await {
                    return error;
                }
            }
        }
    }

    /// Waits until something else is wanted, or for this time at most. Reads counters meanwhile.
    async fn wait(
        &mut self,
        wants: &mut watch::Receiver<Option<Vec<Entity>>>,
        longest: Option<Duration>,
    ) -> Result<()> {
        let begin = Instant::now();
        loop {
            let left = longest.map(|longest| longest.saturating_sub(begin.elapsed()));
            tokio::select! {
                changed = wants.changed() => match changed {
                    Ok(()) => return Ok(()),
                    // The owner has gone; its last packets are being sent.
                    Err(_) => std::future::pending().await,
                },
                () = tokio::time::sleep(left.unwrap_or(COUNTS).min(COUNTS)) => {
                    if left.is_some_and(|left| left <= COUNTS) {
                        return Ok(());
                    }
                    self.count().await?;
                }
            }
        }
    }

    /// What the switch has.
    async fn read(&mut self) -> Result<Vec<Entity>> {
        let replica = self.replica;
        Ok(canonical(self.ask(replica.requests().iter()).await?))
    }

    /// Reads counters.
    async fn count(&mut self) -> Result<()> {
        let replica = self.replica;
        for (request, name) in replica.counters() {
            let cells = self.ask([request].into_iter()).await?;
            replica.count(name, &cells);
        }
        Ok(())
    }

    async fn ask(&mut self, requests: impl Iterator<Item = &Entity>) -> Result<Vec<Entity>> {
        let entities = requests.map(|request| v1::Entity { entity: Some(request.clone()) }).collect();
        let request = v1::ReadRequest { device_id: self.device, entities, ..Default::default() };
        let mut answers = self.stub.read(request).await?.into_inner();
        let mut found = Vec::new();
        while let Some(answer) = answers.message().await? {
            found.extend(answer.entities.into_iter().filter_map(|entity| entity.entity));
        }
        Ok(found)
    }

    async fn write(&mut self, updates: Vec<v1::Update>) -> Result<()> {
        for batch in updates.chunks(BATCH) {
            let request = v1::WriteRequest {
                device_id: self.device,
                election_id: Some(wire(self.id)),
                updates: batch.to_vec(),
                ..Default::default()
            };
            let written = self.stub.write(request).await;
            let count = if written.is_ok() { &self.shared.updates } else { &self.shared.refused };
            count.fetch_add(batch.len() as u64, Ordering::Relaxed);
            written.map_err(|status| failed_updates(&status, 0..batch.len()))?;
        }
        Ok(())
    }
}
