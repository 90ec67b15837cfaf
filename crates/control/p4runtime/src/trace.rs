//! Traces of packets for clients: the interpreter runs a copy of each sampled packet on a thread of its own. The copies come from
//! `dataplane::observe::sample`, the state that the interpreter reads from `dataplane::observe::shadow`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_dataplane::{Sample, Sampling, ShadowExecution, Tenant, Verdict};
use hopwright_interp::{Event, Observer, Output};
use hopwright_ir::{HeaderId, Pipeline, bits};
use hopwright_packet_trace::Events;
use num_bigint::BigUint;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use crate::access::Caller;
use crate::client::parse_match;
use crate::device::Device;
use crate::failure::{Failure, Result, denied, exhausted, invalid, not_found, unimplemented};
use crate::listing;
use crate::proto::config::{MatchField, match_field};
use crate::proto::{trace, v1};
use crate::service::Service;
use v1::field_match::FieldMatchType;

/// Capacity of a client's queue of replies.
const WAITING: usize = 16;
/// How often to check whether the client is still connected, and which ports there are.
const TICK: Duration = Duration::from_millis(100);
/// The most conditions of one request.
const MAX_CONDITIONS: usize = 64;

#[tonic::async_trait]
impl trace::trace_server::Trace for Service {
    type WatchStream = ReceiverStream<std::result::Result<trace::WatchReply, Status>>;

    async fn watch(
        &self,
        request: Request<trace::WatchRequest>,
    ) -> std::result::Result<Response<Self::WatchStream>, Status> {
        let caller = Caller::of(request.extensions());
        let request = request.into_inner();
        let reached = self.registry().reach(&caller, request.device_id).map_err(Failure::status)?;
        if !reached.grant.all_roles() {
            return Err(denied("traces show what belongs to all roles: this client may not have all").status());
        }
        let (registry, device) = (self.registry().clone(), reached.device.clone());
        let allowed = move || registry.check(&caller, &device, "");
        let mut watch = Watch::new(reached.device, &request, Box::new(allowed)).map_err(Failure::status)?;
        let (to, from) = mpsc::channel(WAITING);
        let start = std::thread::Builder::new().name("trace".into()).spawn(move || watch.run(&to));
        start.map_err(|e| exhausted(e.to_string()).status())?;
        Ok(Response::new(ReceiverStream::new(from)))
    }
}

/// A trace for one client.
struct Watch {
    device: Arc<Device>,
    sampling: Sampling,
    follower: ShadowExecution,
    conditions: Conditions,
    wanted: Vec<String>,
    left: u64,
    /// Whether the client may still watch.
    allowed: Allowed,
}

type Allowed = Box<dyn Fn() -> Result<()> + Send>;

/// The position of a field in its header, whose length may vary.
#[derive(Clone, Copy)]
enum Place {
    /// Bits before it.
    FromStart(u32),
    /// Bits after it.
    FromEnd(u32),
}

/// A header field must have this value where the mask has ones.
struct Condition {
    header: HeaderId,
    place: Place,
    width: u32,
    value: BigUint,
    mask: BigUint,
}

impl Watch {
    fn new(device: Arc<Device>, request: &trace::WatchRequest, allowed: Allowed) -> Result<Watch> {
        let follower = follower(&device)?;
        let conditions = Conditions::new(follower.vdp().pipeline(), &request.r#where)?;
        let sampling = device.tenant().sample(request.ingress_port).map_err(|e| exhausted(e.to_string()))?;
        let left = if request.packets == 0 { u64::MAX } else { request.packets };
        Ok(Watch { device, sampling, follower, conditions, wanted: request.r#where.clone(), left, allowed })
    }

    /// Runs until the client has enough packets or has gone, or the switch stops.
    fn run(&mut self, to: &mpsc::Sender<std::result::Result<trace::WatchReply, Status>>) {
        if to.blocking_send(Ok(trace::WatchReply::default())).is_err() {
            return;
        }
        let (mut ports, mut read) = (ports_of(self.device.tenant()), Instant::now());
        while self.left > 0 && !to.is_closed() && !self.device.tenant().stopping() {
            if let Err(failure) = (self.allowed)().and_then(|()| self.take_up_program()) {
                let _ = to.blocking_send(Err(failure.status()));
                return;
            }
            if read.elapsed() >= TICK {
                (ports, read) = (ports_of(self.device.tenant()), Instant::now());
            }
            let Watch { sampling, follower, conditions, .. } = self;
            let follow = |sample: &Sample| follow(&ports, follower, conditions, sample);
            let Some(Some(packet)) = sampling.next(TICK, follow) else {
                continue;
            };
            self.left -= 1;
            let reply = trace::WatchReply { packet: Some(packet), lost: self.sampling.lost() };
            if to.blocking_send(Ok(reply)).is_err() {
                return;
            }
        }
    }

    /// The program may be replaced at any time.
    fn take_up_program(&mut self) -> Result<()> {
        if Arc::ptr_eq(&self.device.tenant().vdp(), self.follower.vdp()) {
            return Ok(());
        }
        self.follower = follower(&self.device)?;
        self.conditions = Conditions::new(self.follower.vdp().pipeline(), &self.wanted)?;
        Ok(())
    }
}

fn follower(device: &Device) -> Result<ShadowExecution> {
    ShadowExecution::new(device.tenant().vdp()).map_err(|e| unimplemented(e.to_string()))
}

/// The interpreter's trace of a packet of a switch with these ports; `None` if the packet does not meet the conditions.
fn follow(
    ports: &[u32],
    follower: &mut ShadowExecution,
    conditions: &Conditions,
    sample: &Sample,
) -> Option<trace::Packet> {
    let pipeline = follower.vdp().pipeline().clone();
    let mut watcher = Watcher::new(&pipeline, ports);
    let output = follower.process(sample.bytes(), sample.ingress_port() as u16, sample.time_us(), &mut watcher);
    if !conditions.hold(sample.bytes(), &watcher) {
        return None;
    }
    let left = output.sent.iter().filter(|s| watcher.events.has_port(s.port));
    let sent = left.map(|s| trace::Sent { port: u32::from(s.port), bytes: s.bytes.clone().into() }).collect();
    let (text, passes) = watcher.events.take();
    Some(trace::Packet {
        time_us: sample.time_us(),
        ingress_port: sample.ingress_port(),
        bytes: sample.bytes().to_vec().into(),
        lines: text.lines().map(str::to_string).collect(),
        passes: passes.to_string(),
        sent,
        otherwise: otherwise(sample, &output),
        fault: output.fault.map(|f| f.message).unwrap_or_default(),
    })
}

/// What the switch did with a packet, in words, if it differs from the interpreter's result; empty otherwise.
pub fn otherwise(sample: &Sample, output: &Output) -> String {
    let ports = |port: u32| output.sent.iter().any(|s| u32::from(s.port) == port);
    match (sample.verdict(), sample.egress_port()) {
        (Verdict::Forward, Some(port)) if !ports(port) => format!("sent it to port {port}"),
        // The switch's result does not include copies of the packet.
        (Verdict::Drop, _) if output.sent.len() == 1 && output.sent[0].instance_type == 0 => "dropped it".into(),
        (Verdict::NoHeadroom, _) => "dropped it: it grew beyond the room in its buffer".into(),
        (Verdict::Fault, _) if output.fault.is_none() => "dropped it: the program ran into a fault".into(),
        _ => String::new(),
    }
}

/// The numbers of a tenant's ports, with those to the CPU.
pub fn ports_of(tenant: &Tenant) -> Vec<u32> {
    let ports = tenant.ports().into_iter().map(|port| port.number);
    ports.chain(tenant.cpu_ports().into_iter().flatten()).collect()
}

/// Records what happens to a packet.
#[derive(Debug)]
pub struct Watcher<'a> {
    /// What happened.
    pub events: Events<'a>,
    /// Offset and length in bytes of each header where it was first extracted.
    headers: HashMap<HeaderId, (usize, usize)>,
}

impl<'a> Watcher<'a> {
    /// For one packet of a tenant with this program and these ports.
    pub fn new(pipeline: &'a Pipeline, ports: &'a [u32]) -> Watcher<'a> {
        Watcher { events: Events::in_switch(pipeline, ports), headers: HashMap::new() }
    }
}

/// What a packet's header fields must be for it to be traced.
pub struct Conditions(Vec<Condition>);

impl Conditions {
    /// Conditions `FIELD=VALUE`, `FIELD=VALUE&&&MASK` or `FIELD=VALUE/LENGTH`, at most 64. Fields may be named by the end of their names.
    ///
    /// # Errors
    /// If a condition is malformed, or there is no such field.
    pub fn new(pipeline: &Pipeline, conditions: &[String]) -> Result<Conditions> {
        if conditions.len() > MAX_CONDITIONS {
            return Err(invalid(format!("more than {MAX_CONDITIONS} conditions")));
        }
        conditions.iter().map(|text| condition(pipeline, text)).collect::<Result<_>>().map(Conditions)
    }

    /// Whether all of them hold for a packet that has been watched.
    pub fn hold(&self, packet: &[u8], watcher: &Watcher<'_>) -> bool {
        self.0.iter().all(|condition| condition.holds(packet, watcher))
    }
}

impl std::fmt::Debug for Conditions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Conditions").field(&self.0.len()).finish()
    }
}

impl Observer for Watcher<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Extract { header, offset, length, .. } = event {
            self.headers.entry(*header).or_insert((*offset, *length));
        }
        self.events.event(event);
    }
}

impl Condition {
    fn holds(&self, packet: &[u8], watcher: &Watcher<'_>) -> bool {
        let Some((offset, length)) = watcher.headers.get(&self.header) else { return false };
        let Some(bytes) = packet.get(*offset..*offset + *length) else { return false };
        let below = match self.place {
            Place::FromStart(before) => (bytes.len() as u32 * 8).checked_sub(before + self.width),
            Place::FromEnd(behind) => Some(behind),
        };
        let Some(below) = below else { return false };
        let value = (BigUint::from_bytes_be(bytes) >> below) & bits::mask(self.width);
        value & &self.mask == self.value
    }
}

/// The fields of the header that a name begins with, or all fields, for a message.
fn similar(pipeline: &Pipeline, name: &str) -> String {
    let all = pipeline.headers.iter().flat_map(|h| h.fields.iter().map(move |f| format!("{}.{}", h.name, f.name)));
    let all: Vec<String> = all.collect();
    let front = name.rsplit_once('.').map_or("", |(front, _)| front);
    let of_header = |full: &&String| full.rsplit_once('.').is_some_and(|(header, _)| header.ends_with(front));
    let near: Vec<&String> = all.iter().filter(of_header).collect();
    let shown = if near.is_empty() { all.iter().collect() } else { near };
    listing::those(shown.into_iter().map(String::as_str))
}

fn condition(pipeline: &Pipeline, text: &str) -> Result<Condition> {
    let (name, value) = text.split_once('=').ok_or_else(|| invalid(format!("`{text}`: expected FIELD=VALUE")))?;
    let name = name.trim();
    let mut found = Vec::new();
    for (at, header) in pipeline.headers.iter().enumerate() {
        for (number, field) in header.fields.iter().enumerate().filter(|(n, _)| header.varbit != Some(*n as u32)) {
            let full = format!("{}.{}", header.name, field.name);
            if full == name || full.strip_suffix(name).is_some_and(|front| front.ends_with('.')) {
                let place = match header.varbit {
                    Some(varbit) if number > varbit as usize => {
                        Place::FromEnd(header.fixed_bits.saturating_sub(field.offset_bits + field.width))
                    }
                    _ => Place::FromStart(field.offset_bits),
                };
                found.push((full, HeaderId(at as u32), place, field));
            }
        }
    }
    if let Some(exact) = found.iter().position(|(full, ..)| full == name) {
        found = vec![found.swap_remove(exact)];
    }
    let (full, header, place, field) = match found.as_slice() {
        [one] => one,
        [] => return Err(not_found(format!("the program has no header field `{name}`{}", similar(pipeline, name)))),
        several => {
            let names: Vec<&str> = several.iter().map(|(full, ..)| full.as_str()).collect();
            return Err(invalid(format!("several fields have the name `{name}`: {}", names.join(", "))));
        }
    };
    let kind = match_field::Match::MatchType(match_field::MatchType::Ternary.into());
    let described =
        MatchField { name: full.clone(), bitwidth: field.width as i32, r#match: Some(kind), ..Default::default() };
    let parsed = parse_match(&described, value.trim()).map_err(|reason| invalid(format!("`{full}`: {reason}")))?;
    let (value, mask) = match parsed {
        Some(FieldMatchType::Ternary(t)) => (BigUint::from_bytes_be(&t.value), BigUint::from_bytes_be(&t.mask)),
        _ => (BigUint::ZERO, BigUint::ZERO),
    };
    Ok(Condition { header: *header, place: *place, width: field.width, value, mask })
}
