//! `Subscribe`: ONCE, POLL and STREAM (section 3.5 of the specification).
//!
//! A stream looks at the whole tree when an interface changes, when a sample or heartbeat is due, and once a second otherwise: then it sends
//! what its subscriptions want of it. What a client does not read in time is sent later, as it is then.

use std::collections::BTreeMap;
use std::time::Duration;

use hopwright_protobuf::gnmi::subscribe_request::Request as Asked;
use hopwright_protobuf::gnmi::subscribe_response::Response as Answer;
use hopwright_protobuf::gnmi::subscription_list::Mode;
use hopwright_protobuf::gnmi::{
    Notification, Path, SubscribeRequest, SubscribeResponse, Subscription, SubscriptionList, SubscriptionMode,
};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::codegen::http::Extensions;
use tonic::{Request, Status, Streaming};

use super::path::{self, MAX_PATHS, Query};
use super::service::{Form, Service, no_extensions, only_our_models};
use super::tree::{Elem, Kind, Leaf, Value};
use crate::interfaces::now_ns;

/// Messages that wait for a client.
const WAITING: usize = 16;
/// The most leaves in a notification.
const LEAVES: usize = 512;
/// How often what is sent on a change is looked at, if no interface changes.
const LOOK: Duration = Duration::from_secs(1);
/// The time between samples, if the client leaves it to us, and the shortest one.
const SAMPLE: Duration = Duration::from_secs(10);
const SHORTEST_SAMPLE: Duration = Duration::from_millis(100);

type Sender = mpsc::Sender<Result<SubscribeResponse, Status>>;

/// Answers a call.
pub(super) fn answer(
    service: Service,
    request: Request<Streaming<SubscribeRequest>>,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<SubscribeResponse, Status>> + Send {
    let (sender, receiver) = mpsc::channel(WAITING);
    let (_, rights, messages) = request.into_parts();
    tokio::spawn(async move {
        let _place = place;
        if let Err(status) = serve(&service, &rights, messages, &sender).await {
            let _ = sender.send(Err(status)).await;
        }
    });
    ReceiverStream::new(receiver)
}

/// Serves a call until it ends. The client may end it at any time.
async fn serve(
    service: &Service,
    rights: &Extensions,
    mut messages: Streaming<SubscribeRequest>,
    sender: &Sender,
) -> Result<(), Status> {
    let Some(first) = messages.next().await else { return Ok(()) };
    let first = first?;
    no_extensions(&first.extension)?;
    let Some(Asked::Subscribe(list)) = first.request else {
        return Err(Status::invalid_argument("the first message of a call is a subscription"));
    };
    only_our_models(&list.use_models)?;
    let mut session = Session::new(&list)?;
    match Mode::try_from(list.mode) {
        Ok(Mode::Once) => session.send_all(service, sender, list.updates_only).await,
        Ok(Mode::Poll) => {
            session.send_all(service, sender, list.updates_only).await?;
            while let Some(message) = messages.next().await {
                let Some(Asked::Poll(_)) = message?.request else {
                    return Err(Status::invalid_argument("expected a poll: a call has one subscription"));
                };
                service.check(rights, false)?;
                session.send_all(service, sender, list.updates_only).await?;
            }
            Ok(())
        }
        Ok(Mode::Stream) => session.stream(service, rights, &mut messages, sender, list.updates_only).await,
        Err(_) => Err(Status::invalid_argument("the mode is not one of STREAM, ONCE and POLL")),
    }
}

/// When leaves are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Changed,
    Every { interval: Duration, only_changed: bool },
}

/// A subscription, and what has been sent for it.
struct Wish {
    query: Query,
    when: When,
    /// Of counters only, or of everything else only, or of both.
    counters: Option<bool>,
    heartbeat: Option<Duration>,
    next_sample: Option<Instant>,
    next_heartbeat: Option<Instant>,
    sent: BTreeMap<Vec<Elem>, Value>,
}

impl Wish {
    fn new(query: Query, when: When, counters: Option<bool>, heartbeat_ns: u64) -> Wish {
        let heartbeat = (heartbeat_ns > 0).then(|| Duration::from_nanos(heartbeat_ns).max(SHORTEST_SAMPLE));
        let (next_sample, next_heartbeat, sent) = (None, None, BTreeMap::new());
        Wish { query, when, counters, heartbeat, next_sample, next_heartbeat, sent }
    }

    fn wants(&self, leaf: &Leaf) -> bool {
        let counter = leaf.kind == Kind::Counter;
        self.counters.is_none_or(|counters| counters == counter) && self.query.depth(&leaf.path).is_some()
    }

    /// Sets the clocks.
    fn begin(&mut self, now: Instant) {
        if let When::Every { interval, .. } = self.when {
            self.next_sample = Some(now + interval);
        }
        self.next_heartbeat = self.heartbeat.map(|heartbeat| now + heartbeat);
    }

    /// Whether something is to be sent now: all leaves, or those that have changed.
    fn due(&mut self, now: Instant) -> Option<Due> {
        // What was missed is left out.
        let next = |at: Instant, interval: Duration| {
            let late = now.duration_since(at).as_nanos() / interval.as_nanos().max(1);
            at + interval * (late as u32 + 1)
        };
        let heartbeat = self.next_heartbeat.filter(|at| *at <= now).zip(self.heartbeat);
        if let Some((at, interval)) = heartbeat {
            self.next_heartbeat = Some(next(at, interval));
        }
        let due = match self.when {
            When::Changed => Some(Due::Changed),
            When::Every { interval, only_changed } => self.next_sample.filter(|at| *at <= now).map(|at| {
                self.next_sample = Some(next(at, interval));
                if only_changed { Due::Changed } else { Due::All }
            }),
        };
        if heartbeat.is_some() { Some(Due::All) } else { due }
    }

    /// When to look again at the latest.
    fn next(&self, now: Instant) -> Instant {
        let looks = if self.when == When::Changed { Some(now + LOOK) } else { None };
        looks.into_iter().chain(self.next_sample).chain(self.next_heartbeat).min().unwrap_or(now + LOOK)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    All,
    Changed,
}

/// A call's subscriptions.
struct Session {
    prefix: Option<Path>,
    form: Form,
    wishes: Vec<Wish>,
}

impl Session {
    /// # Errors
    /// What is wrong with the subscriptions.
    fn new(list: &SubscriptionList) -> Result<Session, Status> {
        if list.subscription.is_empty() || list.subscription.len() > MAX_PATHS {
            return Err(Status::invalid_argument(format!("a call has 1 to {MAX_PATHS} subscriptions")));
        }
        let streams = list.mode == i32::from(Mode::Stream);
        let mut wishes = Vec::new();
        for subscription in &list.subscription {
            let query = Query::new(list.prefix.as_ref(), subscription.path.as_ref())?;
            match streams {
                true => wishes.extend(of_stream(query, subscription)?),
                false => wishes.push(Wish::new(query, When::Changed, None, 0)),
            }
        }
        Ok(Session {
            prefix: path::answered_prefix(list.prefix.as_ref()),
            form: Form::of_leaves(list.encoding)?,
            wishes,
        })
    }

    /// Sends everything that is subscribed to, and that it is complete.
    async fn send_all(&mut self, service: &Service, sender: &Sender, updates_only: bool) -> Result<(), Status> {
        let leaves = service.leaves().await?;
        // Who subscribes to the state of links, as controllers do, needs no counters.
        if leaves.iter().any(|leaf| leaf.kind == Kind::Counter && self.wishes.iter().any(|wish| wish.wants(leaf))) {
            service.interfaces().count_groups();
        }
        if !updates_only {
            self.send(&leaves, sender, |_| Some(Due::All), false).await?;
        }
        let sync = SubscribeResponse { response: Some(Answer::SyncResponse(true)), ..SubscribeResponse::default() };
        let _ = sender.send(Ok(sync)).await;
        Ok(())
    }

    /// Sends what is due of each subscription. `silent` only takes note of it.
    async fn send(
        &mut self,
        leaves: &[Leaf],
        sender: &Sender,
        due: impl Fn(&mut Wish) -> Option<Due>,
        silent: bool,
    ) -> Result<(), Status> {
        let mut updates = Vec::new();
        let mut deleted = Vec::new();
        for wish in &mut self.wishes {
            let Some(due) = due(wish) else { continue };
            let mut now = BTreeMap::new();
            for leaf in leaves.iter().filter(|leaf| wish.wants(leaf)) {
                if due == Due::All || wish.sent.get(&leaf.path) != Some(&leaf.value) {
                    updates.push(leaf);
                }
                now.insert(leaf.path.clone(), leaf.value.clone());
            }
            let gone = std::mem::replace(&mut wish.sent, now);
            deleted.extend(gone.into_keys().filter(|path| !wish.sent.contains_key(path)));
        }
        if silent {
            return Ok(());
        }
        let mut notifications: Vec<Notification> = Vec::new();
        for leaves in updates.chunks(LEAVES) {
            let update = leaves.iter().map(|leaf| self.form.leaf(leaf)).collect();
            notifications.push(Notification { update, ..Notification::default() });
        }
        for paths in deleted.chunks(LEAVES) {
            let delete = paths.iter().map(|path| path::message(path)).collect();
            notifications.push(Notification { delete, ..Notification::default() });
        }
        for mut notification in notifications {
            notification.timestamp = now_ns() as i64;
            notification.prefix.clone_from(&self.prefix);
            let response = Some(Answer::Update(notification));
            if sender.send(Ok(SubscribeResponse { response, ..SubscribeResponse::default() })).await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn stream(
        &mut self,
        service: &Service,
        rights: &Extensions,
        messages: &mut Streaming<SubscribeRequest>,
        sender: &Sender,
        updates_only: bool,
    ) -> Result<(), Status> {
        let mut changes = service.interfaces().changes();
        let leaves = service.leaves().await?;
        self.check_on_change(&leaves)?;
        self.send(&leaves, sender, |_| Some(Due::All), updates_only).await?;
        self.send_all(service, sender, true).await?;
        let begun = Instant::now();
        self.wishes.iter_mut().for_each(|wish| wish.begin(begun));
        // A client that says nothing more may still listen.
        let mut listens = true;
        loop {
            let now = Instant::now();
            let next = self.wishes.iter().map(|wish| wish.next(now)).min().unwrap_or(now + LOOK);
            tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                _ = changes.changed() => {}
                () = sender.closed() => return Ok(()),
                message = messages.next(), if listens => match message {
                    Some(message) => {
                        message?;
                        return Err(Status::invalid_argument("a call has one subscription, and streams are not polled"));
                    }
                    None => listens = false,
                },
            }
            service.check(rights, false)?;
            let leaves = service.leaves().await?;
            let now = Instant::now();
            self.send(&leaves, sender, |wish| wish.due(now), false).await?;
        }
    }

    /// Counters are not sent with every packet.
    fn check_on_change(&self, leaves: &[Leaf]) -> Result<(), Status> {
        for wish in self.wishes.iter().filter(|wish| wish.when == When::Changed && wish.counters.is_none()) {
            if leaves.iter().any(|leaf| leaf.kind == Kind::Counter && wish.wants(leaf)) {
                let hint = "subscribe to it with SAMPLE, or with TARGET_DEFINED, which samples counters";
                return Err(Status::invalid_argument(format!(
                    "{} has counters, which change with every packet and are not sent ON_CHANGE: {hint}",
                    wish.query
                )));
            }
        }
        Ok(())
    }
}

/// The wishes of a subscription of a stream.
fn of_stream(query: Query, subscription: &Subscription) -> Result<Vec<Wish>, Status> {
    let Subscription { sample_interval, suppress_redundant, heartbeat_interval, .. } = *subscription;
    let sampled = || {
        let interval = if sample_interval == 0 { SAMPLE } else { Duration::from_nanos(sample_interval) };
        match interval < SHORTEST_SAMPLE {
            true => Err(Status::invalid_argument(format!(
                "a sample_interval of {sample_interval} ns is too short: at least {} ns",
                SHORTEST_SAMPLE.as_nanos()
            ))),
            false => Ok(When::Every { interval, only_changed: suppress_redundant }),
        }
    };
    match SubscriptionMode::try_from(subscription.mode) {
        Ok(SubscriptionMode::Sample) => Ok(vec![Wish::new(query, sampled()?, None, heartbeat_interval)]),
        Ok(SubscriptionMode::OnChange) => Ok(vec![Wish::new(query, When::Changed, None, heartbeat_interval)]),
        Ok(SubscriptionMode::TargetDefined) => Ok(vec![
            Wish::new(query.clone(), sampled()?, Some(true), heartbeat_interval),
            Wish::new(query, When::Changed, Some(false), heartbeat_interval),
        ]),
        Err(_) => {
            Err(Status::invalid_argument("a subscription's mode is not one of TARGET_DEFINED, ON_CHANGE and SAMPLE"))
        }
    }
}
