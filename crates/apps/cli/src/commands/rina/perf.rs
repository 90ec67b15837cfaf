//! `hopwright rina perf`: how much a flow carries.
//!
//! SDUs begin with 0; an SDU that begins with 1 asks the server for its count, as JSON.

use std::io;
use std::time::{Duration, Instant};

use hopwright_rina::client::{Flow, Received};
use hopwright_rina::ipcp::LONGEST_SDU;
use serde_json::{Value, json};

use super::{allocate, serve};
use crate::cli::rina::PerfArgs;
use crate::failure::Failure;

const DATA: u8 = 0;
const REPORT: u8 = 1;
/// Time between two questions for the count, and their number.
const AGAIN: Duration = Duration::from_millis(500);
const TRIES: u32 = 20;

pub(super) fn run(args: &PerfArgs) -> Result<(), Failure> {
    if let Some(name) = &args.peer.server {
        return serve(&args.peer, name, count);
    }
    let flow = allocate(&args.peer, "perf")?;
    let sdu = vec![DATA; args.size as usize];
    let time = Duration::from_secs_f64(args.seconds.clamp(0.0, 86_400.0));
    let begin = Instant::now();
    let mut sent = 0u64;
    while begin.elapsed() < time {
        if !flow.send(&sdu)? {
            return Err(Failure::message(format!("the flow has ended after {sent} SDUs: {}", reason(&flow)?)));
        }
        sent += 1;
    }
    let report = report(&flow)?;
    let number = |key: &str| report[key].as_f64().unwrap_or_default();
    let (received, seconds) = (number("sdus"), number("seconds").max(1e-9));
    let mbit = number("bytes") * 8e-6 / seconds;
    if args.peer.json {
        let summary = json!({
            "sent": sent, "received": received, "seconds": seconds, "mbit_per_s": mbit,
            "sdus_per_s": received / seconds, "longest_gap_ms": number("longest_gap_ms"),
        });
        println!("{summary}");
    } else {
        println!("{sent} SDUs of {} bytes sent, {received} received in {seconds:.2} s", args.size);
        println!("{mbit:.1} Mbit/s, {:.0} SDUs/s, longest gap {:.1} ms", received / seconds, number("longest_gap_ms"));
    }
    Ok(())
}

/// Why a flow has ended, which comes behind what was received.
fn reason(flow: &Flow) -> Result<String, Failure> {
    let mut buffer = vec![0; LONGEST_SDU];
    loop {
        match flow.receive(&mut buffer, Some(AGAIN))? {
            Received::Sdu(_) => {}
            Received::Failed(why) => return Ok(why),
            Received::End | Received::Nothing => return Ok("by the other application".into()),
        }
    }
}

fn report(flow: &Flow) -> Result<Value, Failure> {
    let mut buffer = vec![0; LONGEST_SDU];
    for _ in 0..TRIES {
        if !flow.send(&[REPORT])? {
            break;
        }
        match flow.receive(&mut buffer, Some(AGAIN))? {
            Received::Sdu(length) => return Ok(serde_json::from_slice(&buffer[..length])?),
            Received::End => break,
            Received::Failed(why) => return Err(Failure::message(format!("the flow has ended: {why}"))),
            Received::Nothing => {}
        }
    }
    Err(Failure::message("the other end does not say what it has received"))
}

/// Counts what comes.
fn count(flow: &Flow) -> io::Result<String> {
    let mut buffer = vec![0; LONGEST_SDU];
    let (mut sdus, mut bytes) = (0u64, 0u64);
    let mut first = None;
    let (mut last, mut longest_gap) = (Instant::now(), Duration::ZERO);
    loop {
        let length = match flow.receive(&mut buffer, None)? {
            Received::Sdu(length) => length,
            Received::Failed(why) => return Err(io::Error::other(format!("{why}, after {sdus} SDUs"))),
            Received::End | Received::Nothing => break,
        };
        let now = Instant::now();
        let first = *first.get_or_insert(now);
        if buffer[0] == REPORT {
            let report = json!({
                "sdus": sdus, "bytes": bytes, "seconds": (last - first.min(last)).as_secs_f64(),
                "longest_gap_ms": longest_gap.as_secs_f64() * 1e3,
            });
            flow.send(report.to_string().as_bytes())?;
            continue;
        }
        if sdus > 0 {
            longest_gap = longest_gap.max(now - last);
        }
        (sdus, bytes, last) = (sdus + 1, bytes + length as u64, now);
    }
    Ok(format!("{sdus} SDUs, {bytes} bytes received"))
}
