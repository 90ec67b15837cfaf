//! Idle entries, as controllers hear of them.

use std::time::Duration;

use hopwright_dataplane::{EngineKind, SwitchBuilder, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{Access, Device, EnginePolicy, Options, Program, Server};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};
use v1::entity::Entity;
use v1::p4_runtime_client::P4RuntimeClient;
use v1::stream_message_response::Update;

const SOURCE: &str = include_str!("../../../../../tests/p4runtime/copies.p4");
const PATIENCE: Duration = Duration::from_secs(60);
const TIMEOUT: i64 = 20_000_000;

/// A primary. It leaves when it is dropped.
struct Primary {
    answers: Streaming<v1::StreamMessageResponse>,
    _messages: mpsc::Sender<v1::StreamMessageRequest>,
}

impl Primary {
    async fn new(stub: &mut P4RuntimeClient<Channel>, election_id: u64) -> Primary {
        let (to, from) = mpsc::channel(1);
        let election_id = Some(v1::Uint128 { high: 0, low: election_id });
        let ask = v1::MasterArbitrationUpdate { device_id: 1, election_id, ..Default::default() };
        let update = Some(v1::stream_message_request::Update::Arbitration(ask));
        to.send(v1::StreamMessageRequest { update }).await.unwrap();
        let answers = stub.stream_channel(ReceiverStream::new(from)).await.unwrap().into_inner();
        let mut primary = Primary { answers, _messages: to };
        assert!(matches!(primary.next().await, Update::Arbitration(_)));
        primary
    }

    async fn next(&mut self) -> Update {
        let message = tokio::time::timeout(PATIENCE, self.answers.message()).await.expect("a message in time");
        message.unwrap().expect("the stream goes on").update.unwrap()
    }

    /// The entries of the next notification.
    async fn idle(&mut self) -> Vec<v1::TableEntry> {
        match self.next().await {
            Update::IdleTimeoutNotification(idle) => idle.table_entry,
            other => panic!("{other:?}"),
        }
    }
}

fn server() -> (Server, v1::TableEntry) {
    let compiled = compile_text("copies.p4", SOURCE, &Default::default(), true);
    let program = Program::from_compiled(&compiled, SOURCE.as_bytes().into()).unwrap();
    let info = program.config.p4info.clone().unwrap();
    let table = info.tables.iter().find(|t| t.idle_timeout_behavior != 0).expect("a table with idle timeouts");
    let actions = table.action_refs.iter().filter_map(|r| {
        info.actions.iter().find(|a| a.preamble.as_ref().unwrap().id == r.id).filter(|a| a.params.is_empty())
    });
    let action_id = actions.map(|a| a.preamble.as_ref().unwrap().id).next().expect("an action without parameters");
    let exact = v1::field_match::Exact { value: vec![7].into() };
    let field_match_type = Some(v1::field_match::FieldMatchType::Exact(exact));
    let action = v1::Action { action_id, params: Vec::new() };
    let entry = v1::TableEntry {
        table_id: table.preamble.as_ref().unwrap().id,
        r#match: vec![v1::FieldMatch { field_id: table.match_fields[0].id, field_match_type }],
        action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) }),
        idle_timeout_ns: TIMEOUT,
        ..Default::default()
    };
    let vdp = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Interp).unwrap();
    let (switch, mut worker) = SwitchBuilder::new(vdp).cpu_port(510).build().unwrap();
    std::thread::spawn(move || worker.run());
    let device = Device::new(1, switch.default_tenant().clone(), EnginePolicy::Interp).with_program(program);
    let options = Options { address: "127.0.0.1:0".parse().unwrap(), tls: None, access: Access::Everybody };
    (Server::start(&options, [device]).unwrap(), entry)
}

/// How long the entry has been idle.
async fn elapsed(stub: &mut P4RuntimeClient<Channel>, entry: &v1::TableEntry) -> i64 {
    let asked = v1::TableEntry { time_since_last_hit: Some(Default::default()), action: None, ..entry.clone() };
    let entities = vec![v1::Entity { entity: Some(Entity::TableEntry(asked)) }];
    let request = v1::ReadRequest { device_id: 1, entities, ..Default::default() };
    let found = stub.read(request).await.unwrap().into_inner().message().await.unwrap().unwrap();
    match found.entities[0].entity.as_ref().unwrap() {
        Entity::TableEntry(found) => found.time_since_last_hit.unwrap().elapsed_ns,
        other => panic!("{other:?}"),
    }
}

#[test]
fn idle_entries_are_notified_again_and_to_the_next_primary() {
    let (server, entry) = server();
    Runtime::new().unwrap().block_on(async {
        let endpoint = Endpoint::from_shared(format!("http://{}", server.address())).unwrap();
        let mut stub = P4RuntimeClient::new(endpoint.connect().await.unwrap());
        let mut first = Primary::new(&mut stub, 1).await;
        let write = async |stub: &mut P4RuntimeClient<Channel>, kind: v1::update::Type| {
            let entity = Some(v1::Entity { entity: Some(Entity::TableEntry(entry.clone())) });
            let updates = vec![v1::Update { r#type: kind as i32, entity }];
            let election_id = Some(v1::Uint128 { high: 0, low: 1 });
            stub.write(v1::WriteRequest { device_id: 1, election_id, updates, ..Default::default() }).await.unwrap();
        };
        write(&mut stub, v1::update::Type::Insert).await;
        for _ in 0..3 {
            let idle = first.idle().await;
            assert_eq!(idle.iter().map(|idle| &idle.r#match).collect::<Vec<_>>(), [&entry.r#match]);
        }
        // It becomes idle when nobody is primary.
        write(&mut stub, v1::update::Type::Modify).await;
        drop(first);
        while elapsed(&mut stub, &entry).await < 20 * TIMEOUT {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let mut second = Primary::new(&mut stub, 2).await;
        assert_eq!(second.idle().await.len(), 1);
    });
}
