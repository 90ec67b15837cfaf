//! How fast a controller fills an exact table: through the data plane's own interface, and through P4Runtime over TCP
//! on this machine. Prints entries a second.
//!
//! `cargo bench -p hopwright-p4runtime [-- ENTRIES]`

use std::error::Error;
use std::time::Instant;

use hopwright_dataplane::{EngineKind, SwitchBuilder, VirtualDataPlane};
use hopwright_ir::compile::compile_text;
use hopwright_ir::{ActionCall, MatchValue, TableEntry};
use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{DEFAULT_ADDRESS, Device, EnginePolicy, Options, Program, Server};
use hopwright_syntax::Options as SourceOptions;
use tonic::transport::Endpoint;
use v1::p4_runtime_client::P4RuntimeClient;

const SOURCE: &str = include_str!("../../../tests/p4runtime/basic.p4");
/// Updates in a write.
const BATCH: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let entries = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(1_000_000usize);
    // Room for them.
    let source = SOURCE.replace("size = 300000", &format!("size = {entries}"));
    let compiled = compile_text("basic.p4", &source, &SourceOptions::default(), true);
    let program = Program::from_compiled(&compiled, source.clone().into_bytes().into()).map_err(|f| f.message)?;

    let vdp = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Jit)?;
    let table = vdp.table("l2")?;
    let action = vdp.resolve_action(table, "forward", &[7u32.into(), 3u32.into()])?;
    let call = |port: u32| ActionCall { action: action.action, args: vec![7u32.into(), port.into()] };
    let made: Vec<TableEntry> = (0..entries as u64)
        .map(|n| TableEntry {
            matches: vec![MatchValue::Exact((0x0200_0000_0000 + n).into()), MatchValue::Exact(1u32.into())],
            priority: 0,
            action: call(n as u32 % 4),
        })
        .collect();
    let start = Instant::now();
    for entry in made {
        vdp.insert_entry(table, entry)?;
    }
    let internal = entries as f64 / start.elapsed().as_secs_f64();
    println!("data plane    {:>12.0} entries/s", internal);

    let vdp = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Jit)?;
    let (switch, _worker) = SwitchBuilder::new(vdp).cpu_port(510).build()?;
    let info = program.config.p4info.clone().unwrap_or_default();
    let table = info.tables.iter().find_map(|t| t.preamble.as_ref().filter(|p| p.alias == "l2")).ok_or("no table")?.id;
    let action =
        info.actions.iter().find_map(|a| a.preamble.as_ref().filter(|p| p.alias == "forward")).ok_or("no action")?.id;
    let device = Device::new(1, switch, EnginePolicy::Jit).with_program(program);
    let mut address: std::net::SocketAddr = DEFAULT_ADDRESS.parse()?;
    address.set_port(0);
    let server = Server::start(&Options { address, tls: None }, [device])?;
    let url = format!("http://{}", server.address());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let through = runtime.block_on(async {
        let mut client = P4RuntimeClient::new(Endpoint::from_shared(url)?.connect().await?);
        let id = v1::Uint128 { high: 0, low: 1 };
        let ask = v1::MasterArbitrationUpdate { device_id: 1, election_id: Some(id), ..Default::default() };
        let ask = v1::StreamMessageRequest { update: Some(v1::stream_message_request::Update::Arbitration(ask)) };
        let (_to, from) = {
            let (to, from) = tokio::sync::mpsc::channel(1);
            to.send(ask).await?;
            (to, tokio_stream::wrappers::ReceiverStream::new(from))
        };
        let mut answers = client.stream_channel(from).await?.into_inner();
        answers.message().await?;
        let mut requests = Vec::new();
        for first in (0..entries).step_by(BATCH) {
            let updates = (first..entries.min(first + BATCH)).map(|n| update(table, action, n as u64)).collect();
            requests.push(v1::WriteRequest { device_id: 1, election_id: Some(id), updates, ..Default::default() });
        }
        let start = Instant::now();
        // Two at a time: one travels while the other is carried out.
        let mut running = tokio::task::JoinSet::new();
        for request in requests {
            if running.len() >= 2
                && let Some(done) = running.join_next().await
            {
                done??;
            }
            let mut client = client.clone();
            running.spawn(async move { client.write(request).await.map(drop) });
        }
        while let Some(done) = running.join_next().await {
            done??;
        }
        Ok::<_, Box<dyn Error>>(entries as f64 / start.elapsed().as_secs_f64())
    })?;
    println!("P4Runtime     {:>12.0} entries/s, {BATCH} in a write", through);
    Ok(())
}

fn update(table: u32, action: u32, n: u64) -> v1::Update {
    let exact = |field_id, bytes: &[u8]| v1::FieldMatch {
        field_id,
        field_match_type: Some(v1::field_match::FieldMatchType::Exact(v1::field_match::Exact {
            value: bytes.to_vec().into(),
        })),
    };
    let param = |param_id, value: &[u8]| v1::action::Param { param_id, value: value.to_vec().into() };
    let action = v1::Action { action_id: action, params: vec![param(1, &[7]), param(2, &[n as u8 % 4])] };
    let entry = v1::TableEntry {
        table_id: table,
        r#match: vec![exact(1, &(0x0200_0000_0000 + n).to_be_bytes()[2..]), exact(2, &[1])],
        action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) }),
        ..Default::default()
    };
    v1::Update {
        r#type: v1::update::Type::Insert.into(),
        entity: Some(v1::Entity { entity: Some(v1::entity::Entity::TableEntry(entry)) }),
    }
}
