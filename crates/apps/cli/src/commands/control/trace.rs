//! `hopwright trace`: what a running switch does to its packets.

use hopwright_interp::changed_ranges;
use hopwright_p4runtime::proto::trace::{Packet, WatchRequest};
use serde_json::{Value, json};

use super::connect;
use crate::cli::control::TraceArgs;
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn run(args: &TraceArgs) -> Result<(), Failure> {
    let mut client = connect(&args.switch)?;
    let request = WatchRequest {
        packets: args.packets,
        ingress_port: args.port.map(u32::from),
        r#where: args.conditions.clone(),
        ..Default::default()
    };
    let (mut number, mut lost) = (0, 0);
    client.watch(request, |reply| {
        if reply.lost > lost && !args.switch.json {
            eprintln!("{} packets were not looked at: there are too many", reply.lost - lost);
        }
        lost = reply.lost;
        match reply.packet {
            Some(packet) => {
                number += 1;
                print(number, &packet, args);
            }
            None => eprintln!("looking at packets; stop with Ctrl-C"),
        }
        true
    })?;
    Ok(())
}

/// One packet, as `replay --trace` prints it.
fn print(number: u64, packet: &Packet, args: &TraceArgs) {
    let change = |bytes: &[u8]| changed_ranges(&packet.bytes, bytes);
    if args.switch.json {
        let sent: Vec<_> = packet
            .sent
            .iter()
            .map(|s| json!({ "port": s.port, "length": s.bytes.len(), "change": change(&s.bytes) }))
            .collect();
        let or_null = |text: &str| (!text.is_empty()).then(|| text.to_string());
        // A switch of an earlier version sends the lines alone.
        let passes: Value = serde_json::from_str(&packet.passes).unwrap_or_default();
        println!(
            "{}",
            json!({ "packet": number, "time_us": packet.time_us, "port": packet.ingress_port,
                    "length": packet.bytes.len(), "bytes": hex(&packet.bytes), "sent": sent, "trace": packet.lines,
                    "passes": passes, "otherwise": or_null(&packet.otherwise), "fault": or_null(&packet.fault) })
        );
        return;
    }
    println!("packet {number}: {} bytes at port {}", packet.bytes.len(), packet.ingress_port);
    for line in &packet.lines {
        println!("{line}");
    }
    for sent in &packet.sent {
        println!("  out of port {}: {}", sent.port, change(&sent.bytes));
    }
    if !packet.fault.is_empty() {
        println!("  fault: {}", packet.fault);
    }
    if !packet.otherwise.is_empty() {
        println!("  but the switch itself {}: its state was another when the packet came", packet.otherwise);
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, b| {
        let _ = write!(text, "{b:02x}");
        text
    })
}
