//! The client against the server: two devices on one address, controlled and looked at by name.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use hopwright_dataplane::{EngineKind, SwitchBuilder, VirtualDataPlane};
use hopwright_driver::{Compiled, compile_file, compile_text};
use hopwright_p4runtime::client::{Client, ClientError, ClientOptions, Written};
use hopwright_p4runtime::proto::config::match_field;
use hopwright_p4runtime::proto::trace::WatchRequest;
use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{Access, Device, EnginePolicy, Options, Program, Server};
use v1::entity::Entity;
use v1::update::Type;

pub(crate) const SOURCE: &str = include_str!("../../../../../tests/p4runtime/basic.p4");
const CPU: u32 = 510;

fn server() -> Server {
    server_with(|| compile_text("basic.p4", SOURCE, &Default::default(), true), SOURCE)
}

/// A server of a program whose config nobody reads.
pub(crate) fn server_of(compile: impl Fn() -> Compiled) -> Server {
    server_with(compile, "")
}

fn server_with(compile: impl Fn() -> Compiled, config: &'static str) -> Server {
    let device = |id| {
        let program = Program::from_compiled(&compile(), config.as_bytes().into()).unwrap();
        let vdp = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Jit).unwrap();
        let (switch, mut worker) = SwitchBuilder::new(vdp).cpu_port(CPU).build().unwrap();
        std::thread::spawn(move || worker.run());
        Device::new(id, switch.default_tenant().clone(), EnginePolicy::Jit).with_program(program)
    };
    let options = Options { address: "127.0.0.1:0".parse().unwrap(), tls: None, access: Access::Everybody };
    Server::start(&options, [1, 2].map(device)).unwrap()
}

pub(crate) fn client(server: &Server, device: u64) -> Client {
    let server = server.address().to_string();
    Client::connect(ClientOptions { server, device, tls: None, force: false }).unwrap()
}

fn entry(client: &Client, table: &str, text: &str) -> Entity {
    let table = client.names().table(table).unwrap();
    Entity::TableEntry(client.names().entry(table, &Written::parse(&[text.to_string()]).unwrap()).unwrap())
}

pub(crate) fn entries(client: &mut Client) -> Vec<String> {
    let found = client.read(Entity::TableEntry(v1::TableEntry::default())).unwrap();
    let text = |e: &Entity| match e {
        Entity::TableEntry(e) => client.names().entry_text(e).to_string(),
        other => panic!("{other:?}"),
    };
    // The program has two constant ones.
    found.iter().map(text).filter(|e| !e.contains("permit()")).collect()
}

#[test]
fn devices_are_apart() {
    let server = server();
    let (mut one, mut two) = (client(&server, 1), client(&server, 2));
    let text = "hdr.ipv4.dst=10.0.0.0/8 => forward(dst=02:00:00:00:00:11, port=1)";
    one.write(Type::Insert, vec![entry(&one, "ipv4_lpm", text)]).unwrap();
    assert_eq!(entries(&mut one), [text]);
    assert_eq!(entries(&mut two), [] as [&str; 0]);

    let failure = one.write(Type::Insert, vec![entry(&one, "ipv4_lpm", text)]).unwrap_err().to_string();
    assert!(failure.contains("(AlreadyExists)"), "{failure}");
    let both = vec![entry(&one, "ipv4_lpm", "dst=10.1.0.0/16 drop"), entry(&one, "ipv4_lpm", text)];
    let failure = one.write(Type::Insert, both).unwrap_err().to_string();
    assert!(failure.starts_with("the switch refuses 1 of 2:\n  number 2: "), "{failure}");
    assert_eq!(entries(&mut one).len(), 2);

    let server = server.address().to_string();
    let nobody = Client::connect(ClientOptions { server, device: 3, tls: None, force: false });
    assert!(matches!(nobody, Err(ClientError::Refused(status)) if status.code() == tonic::Code::NotFound));
}

#[test]
fn masked_keys_have_values_and_masks_but_no_priorities() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/stf/masked_keys.p4");
    let server = server_of(|| compile_file(&file, &Default::default(), true));
    let mut client = client(&server, 1);
    let field = client.names().table("t").unwrap().match_fields[0].clone();
    assert_eq!(field.r#match, Some(match_field::Match::OtherMatchType("masked".into())));
    let wide = "d.a=4848&&&65520 d.c=1 => set(v=3)";
    let exact = "d.a=4855 d.b=0x5&&&0x7 d.c=1 => set(v=4)";
    client.write(Type::Insert, vec![entry(&client, "t", wide), entry(&client, "t", exact)]).unwrap();
    let seen: Vec<String> = entries(&mut client).into_iter().filter(|e| e.contains("set(")).collect();
    assert_eq!(seen, [wide, exact]);
    let mut other = entry(&client, "t", wide);
    let Entity::TableEntry(with_priority) = &mut other else { panic!("an entry") };
    with_priority.priority = 1;
    let failure = client.write(Type::Insert, vec![other]).unwrap_err().to_string();
    assert!(failure.contains("have no priority"), "{failure}");
}

#[test]
fn suffix_keys_have_masks_of_the_lowest_bits() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/stf/suffix_keys.p4");
    let server = server_of(|| compile_file(&file, &Default::default(), true));
    let mut client = client(&server, 1);
    let field = client.names().table("t").unwrap().match_fields[0].clone();
    assert_eq!(field.r#match, Some(match_field::Match::OtherMatchType("suffix".into())));
    let suffix = "d.b=0x37&&&0xff d.c=1 => set(v=3)";
    let whole = "d.b=0x1234 d.c=1 => set(v=4)";
    client.write(Type::Insert, vec![entry(&client, "t", suffix), entry(&client, "t", whole)]).unwrap();
    let other = |mask: &str| entry(&client, "t", &format!("d.b={mask} d.c=1 => set(v=5)"));
    // Ones with zeros below them, a gap, and a prefix.
    let others = ["0x10&&&0xf0", "0x5&&&0x5", "0/8"].map(other);
    let refused = "the suffix key `d.b` does not take this mask: its ones must be the lowest bits";
    for other in others {
        let failure = client.write(Type::Insert, vec![other]).unwrap_err();
        assert!(failure.to_string().contains(refused), "{failure}");
        assert!(failure.to_string().contains("(InvalidArgument)"), "{failure}");
    }
    let seen: Vec<String> = entries(&mut client).into_iter().filter(|e| e.contains("set(")).collect();
    assert_eq!(seen, [suffix, whole]);
}

#[test]
fn packets_are_followed() {
    let server = server();
    let mut control = client(&server, 1);
    let (told, tell) = mpsc::channel();
    let mut watcher = client(&server, 1);
    let watching = std::thread::spawn(move || {
        let request = WatchRequest { packets: 2, r#where: vec!["ethernet.type=0x800".into()], ..Default::default() };
        watcher.watch(request, |reply| told.send(reply.packet).is_ok()).unwrap();
    });
    let next = || tell.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(next(), None);

    let mut frame = vec![0u8; 60];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14] = 0x45;
    frame[30..34].copy_from_slice(&[10, 1, 2, 3]);
    let inject = |frame: &[u8]| server.devices()[0].tenant().injector().packet_out(3, frame).unwrap();
    inject(&frame);
    let packet = next().unwrap();
    assert_eq!((packet.ingress_port, &packet.bytes[..]), (3, &frame[..]));
    assert!(packet.lines.iter().any(|l| l.contains("miss -> MyIngress.drop()")), "{:#?}", packet.lines);
    assert!(packet.sent.is_empty() && packet.otherwise.is_empty());

    // Not what is asked for.
    let mut other = frame.clone();
    other[13] = 6;
    inject(&other);
    // Entries of now.
    let text = "dst=10.0.0.0/8 => forward(dst=0x11, port=1)";
    control.write(Type::Insert, vec![entry(&control, "ipv4_lpm", text)]).unwrap();
    inject(&frame);
    let packet = next().unwrap();
    assert!(packet.lines.iter().any(|l| l.contains("hit (10.0.0.0/8)")), "{:#?}", packet.lines);
    // The switch has a CPU port only.
    assert!(packet.lines.iter().any(|l| l.contains("dropped: there is no port 1 ")), "{:#?}", packet.lines);
    assert!(packet.sent.is_empty() && packet.passes.contains(r#""reason":"no_such_port""#), "{}", packet.passes);
    assert_eq!(packet.otherwise, "");
    watching.join().unwrap();
}
