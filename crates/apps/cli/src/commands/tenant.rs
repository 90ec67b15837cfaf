//! `hopwright tenant`: administers the tenants of a running switch.

use hopwright_switch::admin::{self, Request};
use hopwright_switch::config::{Bytes, Quantity};
use serde_json::Value;

use crate::cli::switch::{TenantArgs, TenantCommand};
use crate::failure::Failure;

/// Asks the switch, and prints its answer.
pub(crate) fn run(args: &TenantArgs) -> Result<(), Failure> {
    let answer = admin::ask(&args.socket, &request(&args.command)?)?;
    if args.json {
        println!("{answer:#}");
        return Ok(());
    }
    match &args.command {
        TenantCommand::List => list(&answer),
        TenantCommand::Show { .. } => show(&answer),
        _ => answer["changes"].as_array().into_iter().flatten().filter_map(Value::as_str).for_each(|c| println!("{c}")),
    }
    Ok(())
}

fn request(command: &TenantCommand) -> Result<Request, Failure> {
    Ok(match command {
        TenantCommand::List => Request::List,
        TenantCommand::Show { name } => Request::Show { tenant: name.clone() },
        TenantCommand::Add { file } => {
            let wrong = |e| Failure::message(format!("{}: {e}", file.display()));
            let text = std::fs::read_to_string(file).map_err(wrong)?;
            Request::Add { file: std::path::absolute(file).map_err(wrong)?, text }
        }
        TenantCommand::Remove { name } => Request::Remove { tenant: name.clone() },
        TenantCommand::Limit { name, packets, bits, share, memory } => Request::Limit {
            tenant: name.clone(),
            packets: packets.clone(),
            bits: bits.clone(),
            share: *share,
            memory: memory.clone(),
        },
    })
}

fn list(answer: &Value) {
    println!(
        "{:<16} {:<20} {:>9} {:>10} {:>10} {:>5} {:>10} {:>10} {:>12} {:>12} {:>12}",
        "tenant",
        "program",
        "device id",
        "packets/s",
        "bits/s",
        "share",
        "memory",
        "at most",
        "received",
        "sent",
        "dropped"
    );
    for tenant in answer.as_array().into_iter().flatten() {
        let limits = &tenant["limits"];
        println!(
            "{:<16} {:<20} {:>9} {:>10} {:>10} {:>5} {:>10} {:>10} {:>12} {:>12} {:>12}",
            text(&tenant["name"]),
            text(&tenant["program"]),
            text(&tenant["device_id"]),
            rate(&limits["packets"]),
            rate(&limits["bits"]),
            text(&limits["share"]),
            memory(&tenant["memory"]["held"]),
            memory(&tenant["memory"]["limit"]),
            text(&tenant["received"]),
            text(&tenant["sent"]),
            text(&tenant["dropped"]),
        );
    }
}

fn show(tenant: &Value) {
    let limits = &tenant["limits"];
    println!("tenant {}: {}", text(&tenant["name"]), text(&tenant["program"]));
    println!("device id  {}", text(&tenant["device_id"]));
    for (number, device) in tenant["ports"].as_object().into_iter().flatten() {
        println!("port {number:<5} {}", text(device));
    }
    println!("packets/s  {}", rate(&limits["packets"]));
    println!("bits/s     {}", rate(&limits["bits"]));
    println!("share      {}", text(&limits["share"]));
    println!("memory     {} of {}", memory(&tenant["memory"]["held"]), memory(&tenant["memory"]["limit"]));
    let queue = &tenant["cpu_queue"];
    println!("CPU queue  {} of {} packets", text(&queue["waiting"]), text(&queue["capacity"]));
    println!("counts");
    for (name, count) in tenant["counts"].as_object().into_iter().flatten().filter(|(_, c)| !c.is_object()) {
        println!("  {:<18} {:>14}", name.replace('_', " "), text(count));
    }
    println!("dropped");
    for (reason, count) in tenant["counts"]["dropped"].as_object().into_iter().flatten() {
        println!("  {:<18} {:>14}", reason.replace('_', " "), text(count));
    }
    println!("entries");
    for (table, count) in tenant["table_entries"].as_object().into_iter().flatten() {
        println!("  {table:<32} {:>9}", text(count));
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn memory(value: &Value) -> String {
    value.as_u64().map_or_else(|| "-".into(), |bytes| Bytes(bytes).to_string())
}

fn rate(value: &Value) -> String {
    value.as_u64().map_or_else(|| "-".into(), |rate| Quantity(rate).to_string())
}
