//! `hopwright rina list` and `show`: what the IPC processes of this machine know.

use std::fmt::Write;

use hopwright_rina::client;
use serde_json::Value;

use crate::cli::rina::ShowArgs;
use crate::failure::Failure;

/// Lists the applications.
pub(super) fn list(args: &ShowArgs) -> Result<(), Failure> {
    let state = state(args)?;
    let mut found = Vec::new();
    for ipcp in array(&state) {
        for application in array(&ipcp["applications"]) {
            found.push((text(&application["application"]), text(&ipcp["dif"]), text(&application["at"])));
        }
    }
    if args.json {
        let rows = found.iter().map(|(name, dif, at)| serde_json::json!({ "application": name, "dif": dif, "at": at }));
        println!("{}", Value::Array(rows.collect()));
        return Ok(());
    }
    println!("{:<24} {:<16} {:<16}", "application", "DIF", "at");
    found.iter().for_each(|(name, dif, at)| println!("{name:<24} {dif:<16} {at:<16}"));
    Ok(())
}

/// Shows neighbours, routes and flows.
pub(super) fn show(args: &ShowArgs) -> Result<(), Failure> {
    let state = state(args)?;
    if args.json {
        println!("{state}");
        return Ok(());
    }
    let mut page = String::new();
    for ipcp in array(&state) {
        describe(&mut page, ipcp)?;
    }
    print!("{page}");
    Ok(())
}

fn describe(page: &mut String, ipcp: &Value) -> Result<(), std::fmt::Error> {
    let address = match ipcp["address"].as_u64() {
        Some(0) | None => "not enrolled".to_string(),
        Some(address) => format!("address {address}"),
    };
    writeln!(page, "{} in DIF {}, {address}", text(&ipcp["name"]), text(&ipcp["dif"]))?;
    for link in array(&ipcp["links"]) {
        let neighbour = link["neighbour"].as_str().unwrap_or("nobody");
        writeln!(page, "  link {:<12} cost {:<5} {neighbour}", text(&link["link"]), link["cost"])?;
    }
    for route in array(&ipcp["routes"]) {
        let links: Vec<String> = array(&route["links"]).map(text).collect();
        let (member, address) = (text(&route["member"]), &route["address"]);
        writeln!(page, "  to {member:<16} address {address:<6} cost {:<5} by {}", route["cost"], links.join(", "))?;
    }
    for flow in array(&ipcp["flows"]) {
        writeln!(
            page,
            "  flow {} {}: {} to {} at {}, {}, {} sent ({} again), {} received ({} marked)",
            flow["flow"],
            text(&flow["state"]),
            text(&flow["local"]),
            text(&flow["remote"]),
            text(&flow["at"]),
            text(&flow["qos"]),
            flow["sent"],
            flow["retransmitted"],
            flow["received"],
            flow["received_marked"]
        )?;
    }
    Ok(())
}

fn state(args: &ShowArgs) -> Result<Value, Failure> {
    Ok(serde_json::from_str(&client::show(&args.socket.socket)?)?)
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}
