//! What `@id` says, over gRPC: each value a controller sends or gets is where its number says, whatever the order in the
//! source.

use std::net::SocketAddr;
use std::time::Duration;

use hopwright_dataplane::{EngineKind, SwitchBuilder, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_p4runtime::proto::config::P4Info;
use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{Access, Device, EnginePolicy, Options, Program, Server, p4info};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};
use v1::entity::Entity;
use v1::field_match::{Exact, FieldMatchType, Ternary};
use v1::p4_runtime_client::P4RuntimeClient;
use v1::update::Type;

/// Answers a packet of the controller with what the tables say of it. `@id`s run against the order of the source
/// wherever there may be one.
const SOURCE: &str = r#"
#include <core.p4>
#include <v1model.p4>
const bit<9> CPU = 510;

@p4runtime_translation("test/tag", string)
type bit<16> tag_t;

@controller_header("packet_out") @id(0x21)
header out_t { @id(3) bit<16> x; @id(1) bit<16> y; @id(2) tag_t tag; }

@controller_header("packet_in") @id(0x22)
header in_t {
    @id(5) bit<16> a; @id(4) bit<16> b; @id(3) bit<16> c; @id(2) bit<16> d; @id(1) tag_t tag; @id(9) bit<16> how;
}

struct headers_t { out_t o; in_t i; }
struct metadata_t { bit<16> how; }
struct pair_t { @id(2) @match(ternary) bit<16> x; @id(1) @match(exact) bit<16> y; }
struct told_t { bit<16> x; tag_t tag; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @id(0x33) value_set<pair_t>(4) special;
    state start {
        packet.extract(hdr.o);
        transition select(hdr.o.x, hdr.o.y) { special: yes; default: accept; }
    }
    state yes { meta.how = 0x100; transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply {} }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @id(0x71) counter(4, CounterType.packets) seen;
    @id(0x72) register<bit<16>>(4) last;
    @id(0x73) action_selector(HashAlgorithm.crc16, 16, 16) select_one;
    @id(0x74) direct_counter(CounterType.packets) hits;

    @id(0x41) action fwd(@id(2) bit<16> a, @id(1) bit<16> b) { hdr.i.a = a; hdr.i.b = b; }
    @id(0x42) action pick(@id(7) bit<16> c, bit<16> d, @id(1) tag_t tag) { hdr.i.c = c; hdr.i.d = d; hdr.i.tag = tag; }
    @id(0x43) action none(@id(2) bit<16> a, @id(1) bit<16> b) { hdr.i.a = a; hdr.i.b = b; }

    @id(0x51) table t {
        key = { hdr.o.x : ternary @id(2); hdr.o.y : exact @id(1); hdr.o.tag : optional @id(9); }
        actions = { fwd; none; }
        counters = hits;
        default_action = none(3, 4);
    }
    @id(0x52) table s {
        key = { hdr.o.x : selector @id(1); hdr.o.y : exact; }
        actions = { pick; @defaultonly NoAction; }
        implementation = select_one;
    }
    apply {
        hdr.i.setValid();
        hdr.i.how = meta.how;
        t.apply();
        s.apply();
        seen.count(1);
        last.write(2, hdr.i.a);
        digest<told_t>(1, { hdr.o.x, hdr.o.tag });
        hdr.o.setInvalid();
        standard.egress_spec = CPU;
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply {} }
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.i); packet.emit(hdr.o); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

const T: u32 = 0x0200_0051;
const S: u32 = 0x0200_0052;
const FWD: u32 = 0x0100_0041;
const PICK: u32 = 0x0100_0042;
const NONE: u32 = 0x0100_0043;

pub(crate) struct Controller {
    pub(crate) stub: P4RuntimeClient<Channel>,
    pub(crate) to: mpsc::Sender<v1::StreamMessageRequest>,
    from: Streaming<v1::StreamMessageResponse>,
}

fn program(source: &str) -> Result<Program, String> {
    let compiled = compile_text("ids.p4", source, &Default::default(), true);
    Program::from_compiled(&compiled, source.as_bytes().to_vec().into()).map_err(|f| f.message)
}

fn info(source: &str) -> P4Info {
    program(source).unwrap().config.p4info.unwrap()
}

fn serve(source: &str, engine: EngineKind) -> Server {
    let program = program(source).unwrap();
    let vdp = VirtualDataPlane::new(program.pipeline.clone(), engine).unwrap();
    let (switch, mut worker) = SwitchBuilder::new(vdp).cpu_port(510).build().unwrap();
    std::thread::spawn(move || worker.run());
    let device = Device::new(1, switch.default_tenant().clone(), EnginePolicy::Auto).with_program(program);
    Server::start(&Options { address: "127.0.0.1:0".parse().unwrap(), tls: None, access: Access::Everybody }, [device])
        .unwrap()
}

impl Controller {
    pub(crate) async fn new(address: SocketAddr) -> Controller {
        let address = format!("http://{address}");
        let mut stub = P4RuntimeClient::new(Endpoint::from_shared(address).unwrap().connect().await.unwrap());
        let (to, messages) = mpsc::channel(16);
        let update = v1::MasterArbitrationUpdate {
            device_id: 1,
            election_id: Some(v1::Uint128 { high: 0, low: 1 }),
            ..Default::default()
        };
        to.send(message(v1::stream_message_request::Update::Arbitration(update))).await.unwrap();
        let from = stub.stream_channel(ReceiverStream::new(messages)).await.unwrap().into_inner();
        let mut controller = Controller { stub, to, from };
        assert!(matches!(controller.next().await, v1::stream_message_response::Update::Arbitration(_)));
        controller
    }

    pub(crate) async fn next(&mut self) -> v1::stream_message_response::Update {
        let next = tokio::time::timeout(Duration::from_secs(60), self.from.next()).await.unwrap();
        next.unwrap().unwrap().update.unwrap()
    }

    async fn write(&mut self, kind: Type, entity: Entity) -> Result<(), tonic::Status> {
        let request = v1::WriteRequest {
            device_id: 1,
            election_id: Some(v1::Uint128 { high: 0, low: 1 }),
            updates: vec![v1::Update { r#type: kind.into(), entity: Some(v1::Entity { entity: Some(entity) }) }],
            ..Default::default()
        };
        self.stub.write(request).await.map(drop)
    }

    pub(crate) async fn read(&mut self, entity: Entity) -> Vec<Entity> {
        let request =
            v1::ReadRequest { device_id: 1, entities: vec![v1::Entity { entity: Some(entity) }], ..Default::default() };
        let mut answers = self.stub.read(request).await.unwrap().into_inner();
        let mut found = Vec::new();
        while let Some(answer) = answers.next().await {
            found.extend(answer.unwrap().entities.into_iter().filter_map(|e| e.entity));
        }
        found
    }

    /// Sends a packet and returns the metadata of the answer, by number.
    async fn packet(&mut self, x: u16, y: u16, tag: &str) -> Vec<(u32, String)> {
        let metadata = [(1, y.to_be_bytes().to_vec()), (2, tag.into()), (3, x.to_be_bytes().to_vec())];
        let metadata = metadata.map(|(metadata_id, value)| v1::PacketMetadata { metadata_id, value: value.into() });
        let out = v1::PacketOut { payload: vec![7; 60].into(), metadata: metadata.into() };
        self.to.send(message(v1::stream_message_request::Update::Packet(out))).await.unwrap();
        loop {
            match self.next().await {
                v1::stream_message_response::Update::Packet(packet) => {
                    assert_eq!(&packet.payload[..], [7; 60]);
                    let text = |m: &v1::PacketMetadata| match m.metadata_id {
                        1 => String::from_utf8_lossy(&m.value).into_owned(),
                        _ => m.value.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)).to_string(),
                    };
                    let mut given: Vec<_> = packet.metadata.iter().map(|m| (m.metadata_id, text(m))).collect();
                    given.sort();
                    return given;
                }
                v1::stream_message_response::Update::Digest(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

pub(crate) fn message(update: v1::stream_message_request::Update) -> v1::StreamMessageRequest {
    v1::StreamMessageRequest { update: Some(update) }
}

fn number(value: u16) -> ::bytes::Bytes {
    hopwright_p4runtime::bytes::of(&value.into())
}

fn exact(field_id: u32, value: u16) -> v1::FieldMatch {
    v1::FieldMatch { field_id, field_match_type: Some(FieldMatchType::Exact(Exact { value: number(value) })) }
}

fn call(action_id: u32, params: &[(u32, &[u8])]) -> v1::Action {
    let param = |(id, value): &(u32, &[u8])| v1::action::Param { param_id: *id, value: value.to_vec().into() };
    v1::Action { action_id, params: params.iter().map(param).collect() }
}

fn does(action: v1::Action) -> Option<v1::TableAction> {
    Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) })
}

fn given(metadata: &[(u32, String)]) -> Vec<(u32, &str)> {
    metadata.iter().map(|(id, value)| (*id, value.as_str())).collect()
}

/// An entry of table `t`: `x` has number 2 and is ternary, `y` number 1; parameter 1 is `b`, 2 is `a`.
fn ternary_entry() -> v1::TableEntry {
    let ternary = Ternary { value: number(0x20), mask: number(0xf0) };
    let ternary = v1::FieldMatch { field_id: 2, field_match_type: Some(FieldMatchType::Ternary(ternary)) };
    let tag = v1::field_match::Optional { value: b"300".to_vec().into() };
    let tag = v1::FieldMatch { field_id: 9, field_match_type: Some(FieldMatchType::Optional(tag)) };
    v1::TableEntry {
        table_id: T,
        r#match: vec![exact(1, 0x77), ternary, tag],
        action: does(call(FWD, &[(1, &[11]), (2, &[22])])),
        priority: 1,
        ..Default::default()
    }
}

async fn values_are_where_their_numbers_say(address: SocketAddr) {
    let mut c = Controller::new(address).await;
    entries_of_tables(&mut c).await;
    actions_of_profiles(&mut c).await;
    value_sets_and_cells(&mut c).await;
    digests(&mut c).await;
    entries_with_other_numbers_are_refused(&mut c).await;
}

async fn entries_of_tables(c: &mut Controller) {
    // The default action's arguments, in the program's order: a = 3, b = 4.
    assert_eq!(given(&c.packet(1, 2, "9").await), [(1, "0"), (2, "0"), (3, "0"), (4, "4"), (5, "3"), (9, "0")]);

    let entry = ternary_entry();
    c.write(Type::Insert, Entity::TableEntry(entry.clone())).await.unwrap();
    assert_eq!(given(&c.packet(0x2a, 0x77, "300").await)[3..5], [(4, "11"), (5, "22")]);
    assert_eq!(given(&c.packet(0x77, 0x2a, "300").await)[3..5], [(4, "4"), (5, "3")]);
    assert_eq!(given(&c.packet(0x2a, 0x77, "301").await)[3..5], [(4, "4"), (5, "3")]);
    let Entity::TableEntry(mut read) =
        c.read(Entity::TableEntry(v1::TableEntry { table_id: T, ..Default::default() })).await.remove(0)
    else {
        panic!()
    };
    read.r#match.sort_by_key(|m| m.field_id);
    let Some(v1::table_action::Type::Action(action)) = &mut read.action.as_mut().unwrap().r#type else { panic!() };
    action.params.sort_by_key(|p| p.param_id);
    assert_eq!((&read.r#match, &read.action), (&entry.r#match, &entry.action));

    // The default entry, written and read.
    let default = v1::TableEntry {
        table_id: T,
        is_default_action: true,
        action: does(call(NONE, &[(1, &[6]), (2, &[5])])),
        ..Default::default()
    };
    c.write(Type::Modify, Entity::TableEntry(default)).await.unwrap();
    assert_eq!(given(&c.packet(1, 1, "0").await)[3..5], [(4, "6"), (5, "5")]);
}

async fn actions_of_profiles(c: &mut Controller) {
    // Members of an action profile, and sets of actions. The selector key takes number 1, so `y` has 2.
    let member = v1::ActionProfileMember {
        action_profile_id: 0x1100_0073,
        member_id: 1,
        action: Some(call(PICK, &[(7, &[33]), (2, &[44]), (1, b"55")])),
    };
    c.write(Type::Insert, Entity::ActionProfileMember(member.clone())).await.unwrap();
    let one = |y, kind| v1::TableEntry {
        table_id: S,
        r#match: vec![exact(2, y)],
        action: Some(v1::TableAction { r#type: Some(kind) }),
        ..Default::default()
    };
    let by_member = one(0x77, v1::table_action::Type::ActionProfileMemberId(1));
    c.write(Type::Insert, Entity::TableEntry(by_member)).await.unwrap();
    assert_eq!(given(&c.packet(1, 0x77, "0").await)[..3], [(1, "55"), (2, "44"), (3, "33")]);
    let asked = v1::ActionProfileMember { action_profile_id: 0x1100_0073, ..Default::default() };
    let Entity::ActionProfileMember(mut read) = c.read(Entity::ActionProfileMember(asked)).await.remove(0) else {
        panic!()
    };
    let mut sorted = member.clone();
    sorted.action.as_mut().unwrap().params.sort_by_key(|p| p.param_id);
    read.action.as_mut().unwrap().params.sort_by_key(|p| p.param_id);
    assert_eq!(read, sorted);
    let set = v1::ActionProfileActionSet {
        action_profile_actions: vec![v1::ActionProfileAction {
            action: Some(call(PICK, &[(1, b"8"), (2, &[9]), (7, &[10])])),
            weight: 1,
            ..Default::default()
        }],
        ..Default::default()
    };
    let by_set = one(0x78, v1::table_action::Type::ActionProfileActionSet(set));
    c.write(Type::Insert, Entity::TableEntry(by_set)).await.unwrap();
    assert_eq!(given(&c.packet(1, 0x78, "0").await)[..3], [(1, "8"), (2, "9"), (3, "10")]);
}

async fn value_sets_and_cells(c: &mut Controller) {
    // A value set's member: `x` is number 2 and ternary, `y` number 1.
    let ternary = Ternary { value: number(0x40), mask: number(0xf0) };
    let ternary = v1::FieldMatch { field_id: 2, field_match_type: Some(FieldMatchType::Ternary(ternary)) };
    let members = vec![v1::ValueSetMember { r#match: vec![exact(1, 5), ternary] }];
    let set = v1::ValueSetEntry { value_set_id: 0x0300_0033, members };
    c.write(Type::Modify, Entity::ValueSetEntry(set)).await.unwrap();
    assert_eq!(given(&c.packet(0x4b, 5, "0").await)[5], (9, "256"));
    assert_eq!(given(&c.packet(5, 0x4b, "0").await)[5], (9, "0"));

    // Counters and registers by their numbers.
    let counter = v1::CounterEntry { counter_id: 0x1200_0071, index: Some(v1::Index { index: 1 }), data: None };
    let Entity::CounterEntry(counter) = c.read(Entity::CounterEntry(counter)).await.remove(0) else { panic!() };
    assert!(counter.data.unwrap().packet_count > 5);
    let register = v1::RegisterEntry { register_id: 0x1600_0072, index: Some(v1::Index { index: 2 }), data: None };
    let Entity::RegisterEntry(register) = c.read(Entity::RegisterEntry(register)).await.remove(0) else { panic!() };
    assert_eq!(register.data.unwrap().data, Some(v1::p4_data::Data::Bitstring(number(5))));
}

async fn digests(c: &mut Controller) {
    // A digest with a translated type.
    let id = info(SOURCE).digests[0].preamble.as_ref().unwrap().id;
    let config = v1::digest_entry::Config::default();
    c.write(Type::Insert, Entity::DigestEntry(v1::DigestEntry { digest_id: id, config: Some(config) })).await.unwrap();
    let metadata = [(1, vec![2]), (2, b"1234".to_vec()), (3, vec![1])];
    let metadata = metadata.map(|(metadata_id, value)| v1::PacketMetadata { metadata_id, value: value.into() });
    let out = v1::PacketOut { payload: vec![7; 60].into(), metadata: metadata.into() };
    c.to.send(message(v1::stream_message_request::Update::Packet(out))).await.unwrap();
    let digest = loop {
        if let v1::stream_message_response::Update::Digest(digest) = c.next().await {
            break digest;
        }
    };
    let data = |b: &[u8]| v1::P4Data { data: Some(v1::p4_data::Data::Bitstring(b.to_vec().into())) };
    let members = vec![data(&[1]), data(b"1234")];
    assert_eq!(digest.data[0].data, Some(v1::p4_data::Data::Struct(v1::P4StructLike { members })));
}

async fn entries_with_other_numbers_are_refused(c: &mut Controller) {
    let entry = ternary_entry();
    // Numbers that are not in the program.
    for (wrong, params) in
        [(FWD, [(1, &[1][..]), (3, &[1])]), (FWD, [(1, &[1]), (1, &[1])]), (0x43, [(1, &[1]), (2, &[1])])]
    {
        let entry = v1::TableEntry { action: does(call(wrong, &params)), priority: 2, ..entry.clone() };
        let failure = c.write(Type::Insert, Entity::TableEntry(entry)).await.unwrap_err();
        assert!(failure.message().starts_with("1 of 1 updates failed"), "{failure}");
    }
    let name = v1::field_match::Optional { value: b"Ethernet0".to_vec().into() };
    let name = v1::FieldMatch { field_id: 9, field_match_type: Some(FieldMatchType::Optional(name)) };
    // Strings that are no numbers get one.
    let entry = v1::TableEntry { r#match: vec![exact(1, 1), name.clone()], priority: 3, ..entry };
    c.write(Type::Insert, Entity::TableEntry(entry)).await.unwrap();
    let asked = v1::TableEntry { table_id: T, priority: 3, ..Default::default() };
    let Entity::TableEntry(read) = c.read(Entity::TableEntry(asked)).await.remove(0) else { panic!() };
    assert!(read.r#match.contains(&name), "{read:?}");
}

#[test]
fn values_are_where_their_numbers_say_interpreted() {
    let server = serve(SOURCE, EngineKind::Interp);
    Runtime::new().unwrap().block_on(values_are_where_their_numbers_say(server.address()));
}

#[test]
fn values_are_where_their_numbers_say_compiled() {
    let server = serve(SOURCE, EngineKind::Jit);
    Runtime::new().unwrap().block_on(values_are_where_their_numbers_say(server.address()));
}

#[test]
fn p4info_has_the_numbers() {
    let info = info(SOURCE);
    let params = |at: usize| info.actions[at].params.iter().map(|p| (p.id, p.name.as_str())).collect::<Vec<_>>();
    let at = |id| info.actions.iter().position(|a| a.preamble.as_ref().unwrap().id == id).unwrap();
    assert_eq!(params(at(FWD)), [(2, "a"), (1, "b")]);
    // What has no number takes its place's, as p4c counts.
    assert_eq!(params(at(PICK)), [(7, "c"), (2, "d"), (1, "tag")]);
    let t = info.tables.iter().find(|t| t.preamble.as_ref().unwrap().id == T).unwrap();
    let arguments = &t.initial_default_action.as_ref().unwrap().arguments;
    let arguments: Vec<_> = arguments.iter().map(|a| (a.param_id, a.value.to_vec())).collect();
    assert_eq!(arguments, [(2, vec![0, 3]), (1, vec![0, 4])]);
    let s = info.tables.iter().find(|t| t.preamble.as_ref().unwrap().id == S).unwrap();
    assert_eq!(s.match_fields[0].id, 2);
}

/// Why a program's ids are refused.
fn refused(what: &str, instead: &str) -> String {
    let source = SOURCE.replacen(what, instead, 1);
    assert_ne!(source, SOURCE);
    program(&source).err().unwrap_or_else(|| panic!("{instead} is taken"))
}

#[test]
fn wrong_numbers_are_refused() {
    for (what, instead) in [
        // Given twice.
        ("@id(2) bit<16> a, @id(1) bit<16> b", "@id(1) bit<16> a, @id(1) bit<16> b"),
        ("ternary @id(2)", "ternary @id(1)"),
        ("@id(3) bit<16> x; @id(1)", "@id(1) bit<16> x; @id(1)"),
        ("@id(4) bit<16> b", "@id(5) bit<16> b"),
        ("@id(2) @match(ternary) bit<16> x", "@id(1) @match(ternary) bit<16> x"),
        ("@id(0x52) table", "@id(0x51) table"),
        ("@id(0x42) action", "@id(0x41) action"),
        ("@id(0x22)", "@id(0x21)"),
        // Zero.
        ("ternary @id(2)", "ternary @id(0)"),
        ("@id(2) bit<16> a", "@id(0) bit<16> a"),
        // Of another kind.
        ("@id(0x52) table", "@id(0x01000052) table"),
        ("@id(0x71) counter", "@id(0x14000071) counter"),
        // Beyond 32 bits, below zero, no number at all.
        ("@id(2) bit<16> a", "@id(0x100000000) bit<16> a"),
        ("@id(2) bit<16> a", "@id(-2) bit<16> a"),
        ("@id(2) bit<16> a", "@id(\"two\") bit<16> a"),
        ("@id(2) bit<16> a", "@id() bit<16> a"),
        ("@id(0x72) register", "@id(0x1160000072) register"),
        ("@id(0x33) value_set", "@id(x) value_set"),
    ] {
        let message = refused(what, instead);
        assert!(message.contains("@id"), "{instead}: {message}");
    }
}

#[test]
fn a_p4info_with_other_numbers_is_refused_on_push() {
    let ours = info(SOURCE);
    let push = |info: P4Info| {
        let config = v1::ForwardingPipelineConfig {
            p4info: Some(info),
            p4_device_config: SOURCE.as_bytes().to_vec().into(),
            cookie: None,
        };
        Program::from_config(&config).map(|_| ()).map_err(|f| f.message)
    };
    assert_eq!(push(ours.clone()), Ok(()));
    assert_eq!(push(p4info::from_text(&p4info::to_text(&ours).unwrap()).unwrap()), Ok(()));
    type Change = fn(&mut P4Info);
    let changes: [(&str, Change); 5] = [
        ("parameters", |info| info.actions.iter_mut().flat_map(|a| &mut a.params).for_each(|p| p.id += 10)),
        ("match fields", |info| info.tables.iter_mut().flat_map(|t| &mut t.match_fields).for_each(|f| f.id += 10)),
        ("members", |info| {
            info.controller_packet_metadata.iter_mut().flat_map(|c| &mut c.metadata).for_each(|m| m.id += 10);
        }),
        ("match fields", |info| info.value_sets.iter_mut().flat_map(|v| &mut v.r#match).for_each(|m| m.id += 10)),
        ("actions", |info| info.tables.iter_mut().for_each(|t| t.action_refs.truncate(1))),
    ];
    for (what, change) in changes {
        let mut other = ours.clone();
        change(&mut other);
        let failure = push(other).unwrap_err();
        assert!(failure.contains(&format!("has other {what}")), "{what}: {failure}");
    }
}
