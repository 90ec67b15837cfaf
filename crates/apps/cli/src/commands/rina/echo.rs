//! `hopwright rina echo`: SDUs there and back.

use std::io;
use std::time::{Duration, Instant};

use hopwright_rina::client::{Flow, Received};
use hopwright_rina::ipcp::LONGEST_SDU;
use serde_json::json;

use super::{allocate, serve};
use crate::cli::rina::EchoArgs;
use crate::failure::Failure;

/// Number and time, in front of an SDU.
const HEADER: usize = 12;

pub(super) fn run(args: &EchoArgs) -> Result<(), Failure> {
    if let Some(name) = &args.peer.server {
        return serve(&args.peer, name, answer);
    }
    let begin = Instant::now();
    let flow = allocate(&args.peer, "echo")?;
    let allocated = begin.elapsed();
    if !args.peer.json {
        println!("flow allocated in {:.1} ms", millis(allocated));
    }
    let begin = Instant::now();
    let interval = Duration::from_secs_f64(args.interval.clamp(0.0, 3600.0));
    let mut times: Vec<Option<Duration>> = Vec::new();
    let (mut last, mut longest_gap) = (Duration::ZERO, Duration::ZERO);
    let mut buffer = vec![0; LONGEST_SDU];
    let mut ended = false;
    loop {
        let now = begin.elapsed();
        let next = interval * times.len() as u32;
        let all = times.len() == args.count as usize;
        if !all && now >= next {
            let mut sdu = vec![0; args.size as usize];
            sdu[..4].copy_from_slice(&(times.len() as u32).to_be_bytes());
            sdu[4..HEADER].copy_from_slice(&(now.as_nanos() as u64).to_be_bytes());
            times.push(None);
            if !flow.send(&sdu)? {
                ended = true;
                break;
            }
            continue;
        }
        let end = interval * args.count.saturating_sub(1) + Duration::from_secs_f64(args.timeout.clamp(0.0, 3600.0));
        if all && (times.iter().all(Option::is_some) || now >= end) {
            break;
        }
        let until = if all { end } else { next };
        match flow.receive(&mut buffer, Some(until.saturating_sub(now)))? {
            Received::Sdu(length) if length >= HEADER => {
                let now = begin.elapsed();
                let number = buffer.first_chunk().map_or(0, |number| u32::from_be_bytes(*number)) as usize;
                let sent = buffer[4..].first_chunk().map_or(0, |time| u64::from_be_bytes(*time));
                let time = now.saturating_sub(Duration::from_nanos(sent));
                longest_gap = longest_gap.max(now.saturating_sub(last));
                last = now;
                if let Some(slot) = times.get_mut(number) {
                    *slot = Some(time);
                }
                if !args.peer.json {
                    println!("{length} bytes: number {number}, {:.3} ms", millis(time));
                }
            }
            Received::End => {
                ended = true;
                break;
            }
            Received::Failed(why) => {
                tracing::error!("the flow has ended: {why}");
                ended = true;
                break;
            }
            _ => {}
        }
    }
    let came: Vec<f64> = times.iter().flatten().map(|time| millis(*time)).collect();
    let mean = came.iter().sum::<f64>() / came.len().max(1) as f64;
    let most = came.iter().copied().fold(0.0, f64::max);
    let least = came.iter().copied().fold(f64::INFINITY, f64::min);
    if args.peer.json {
        let summary = json!({
            "sent": times.len(), "received": came.len(), "allocation_ms": millis(allocated), "mean_ms": mean,
            "most_ms": most, "longest_gap_ms": millis(longest_gap), "ended": ended,
        });
        println!("{summary}");
    } else {
        println!("{} sent, {} came back", times.len(), came.len());
        if !came.is_empty() {
            println!("least {least:.3} ms, mean {mean:.3} ms, most {most:.3} ms");
        }
        if ended {
            println!("the flow has ended");
        }
    }
    if came.len() < args.count as usize { Err(Failure::Reported) } else { Ok(()) }
}

/// Sends back what comes.
fn answer(flow: &Flow) -> io::Result<String> {
    let mut buffer = vec![0; LONGEST_SDU];
    let mut count = 0u64;
    loop {
        match flow.receive(&mut buffer, None)? {
            Received::Sdu(length) => {
                // If the flow has ended, the next answer says why.
                count += u64::from(flow.send(&buffer[..length])?);
            }
            Received::Failed(why) => return Err(io::Error::other(format!("{why}, after {count} SDUs"))),
            Received::End | Received::Nothing => break,
        }
    }
    Ok(format!("{count} SDUs sent back"))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
