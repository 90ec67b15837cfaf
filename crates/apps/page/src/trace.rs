//! The next packets that meet conditions, step by step.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_dataplane::{Sample, ShadowExecution, Tenant};
use hopwright_interp::changed_ranges;
use hopwright_p4runtime::{Conditions, Watcher, otherwise, ports_of};
use serde_json::{Value, json};

use crate::answer::{Answer, Query, Refusal};

/// The most packets of a request.
const MAX_PACKETS: u64 = 16;
/// The longest time that a request waits for packets.
const LONGEST_WAIT: u64 = 20;
/// Packets that are looked at for a request, with or without success.
const MAX_LOOKED_AT: u32 = 20_000;
/// How often a request looks whether the switch stops, and which ports there are.
const TICK: Duration = Duration::from_millis(200);

/// Follows packets: `packets` of them that arrive at `port` and meet the conditions in `where`, separated by white space, within `seconds`.
pub(crate) fn follow(tenant: &Arc<Tenant>, query: &Query) -> Answer {
    let wanted = query.number("packets", 1)?.clamp(1, MAX_PACKETS) as usize;
    let until = Instant::now() + Duration::from_secs(query.number("seconds", 5)?.min(LONGEST_WAIT));
    let port = match query.text("port") {
        "" => None,
        _ => Some(query.number("port", 0)?.min(u64::from(u32::MAX - 1)) as u32),
    };
    let conditions: Vec<String> = query.text("where").split_whitespace().map(str::to_string).collect();
    let vdp = tenant.vdp();
    let pipeline = vdp.pipeline().clone();
    let conditions = Conditions::new(&pipeline, &conditions)?;
    let mut shadow = ShadowExecution::new(vdp).map_err(|e| Refusal::bad(e.to_string()))?;
    let sampling = tenant.sample(port).map_err(|e| Refusal::bad(e.to_string()))?;
    let (mut found, mut looked_at) = (Vec::new(), 0);
    let (mut ports, mut read) = (ports_of(tenant), Instant::now());
    while found.len() < wanted && looked_at < MAX_LOOKED_AT && Instant::now() < until && !tenant.stopping() {
        if read.elapsed() >= TICK {
            (ports, read) = (ports_of(tenant), Instant::now());
        }
        let left = until.saturating_duration_since(Instant::now()).min(TICK);
        let followed = sampling.next(left, |sample| {
            looked_at += 1;
            let mut watcher = Watcher::new(&pipeline, &ports);
            let output = shadow.process(sample.bytes(), sample.ingress_port() as u16, sample.time_us(), &mut watcher);
            conditions.hold(sample.bytes(), &watcher).then(|| packet(sample, &output, watcher))
        });
        found.extend(followed.flatten());
    }
    Ok(json!({ "packets": found, "looked_at": looked_at, "not_looked_at": sampling.lost() }))
}

fn packet(sample: &Sample, output: &hopwright_interp::Output, mut watcher: Watcher<'_>) -> Value {
    let left = output.sent.iter().filter(|s| watcher.events.has_port(s.port));
    let sent: Vec<Value> = left.map(|s| sent(sample.bytes(), s.port, &s.bytes)).collect();
    let (text, passes) = watcher.events.take();
    json!({ "time_us": sample.time_us(), "port": sample.ingress_port(), "bytes": hex(sample.bytes()), "sent": sent,
            "passes": passes, "text": text, "otherwise": otherwise(sample, output), "fault": output.why_lost() })
}

/// A packet that was sent.
pub(crate) fn sent(received: &[u8], port: u16, bytes: &[u8]) -> Value {
    json!({ "port": port, "bytes": hex(bytes), "change": changed_ranges(received, bytes) })
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
