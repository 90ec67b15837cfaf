//! Several devices on one server, and clients that are known by their certificates.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hopwright_dataplane::{EngineKind, SwitchBuilder, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{Access, Client, Device, EnginePolicy, Options, Program, Server, Tls};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Status, Streaming};
use v1::p4_runtime_client::P4RuntimeClient;
use v1::stream_message_response::Update;

const SOURCE: &str = include_str!("../../../../../tests/p4runtime/basic.p4");
const PATIENCE: Duration = Duration::from_secs(60);

type Stub = P4RuntimeClient<Channel>;

/// A certificate and its key, in PEM form.
struct Pem {
    certificate: String,
    key: String,
}

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    fn sign(&self, common_name: &str, alternative: Vec<SanType>) -> Pem {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.subject_alt_names = alternative;
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Pem { certificate, key: key.serialize_pem() }
    }
}

fn uri(text: &str) -> SanType {
    SanType::URI(text.try_into().unwrap())
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn device(id: u64) -> Device {
    let compiled = compile_text("basic.p4", SOURCE, &Default::default(), true);
    let program = Program::from_compiled(&compiled, SOURCE.as_bytes().into()).unwrap();
    let vdp = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Interp).unwrap();
    let (switch, mut worker) = SwitchBuilder::new(vdp).cpu_port(510).build().unwrap();
    std::thread::spawn(move || worker.run());
    Device::new(id, switch.default_tenant().clone(), EnginePolicy::Interp).with_program(program)
}

fn client(name: &str, devices: Option<&[u64]>, roles: Option<&[&str]>, programs: bool) -> Client {
    let roles = roles.map(|roles| roles.iter().map(|r| r.to_string()).collect::<BTreeSet<_>>());
    Client { name: name.into(), devices: devices.map(|d| d.iter().copied().collect()), roles, programs }
}

/// A server with client certificates.
struct Secure {
    _folder: tempfile::TempDir,
    authority: Authority,
    server: Server,
}

impl Secure {
    fn start(access: Access, devices: impl IntoIterator<Item = Device>) -> Secure {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        let own = authority.sign("switch", vec![SanType::DnsName("localhost".try_into().unwrap())]);
        let tls = Tls {
            certificate: write(folder.path(), "cert.pem", &own.certificate),
            key: write(folder.path(), "key.pem", &own.key),
            client_ca: Some(write(folder.path(), "ca.pem", &authority.pem)),
        };
        let options = Options { address: "127.0.0.1:0".parse().unwrap(), tls: Some(tls), access };
        Secure { server: Server::start(&options, devices).unwrap(), authority, _folder: folder }
    }

    async fn connect(&self, pem: &Pem) -> Stub {
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&self.authority.pem))
            .identity(Identity::from_pem(&pem.certificate, &pem.key))
            .domain_name("localhost");
        let endpoint = Endpoint::from_shared(format!("https://{}", self.server.address())).unwrap();
        P4RuntimeClient::new(endpoint.tls_config(tls).unwrap().connect().await.unwrap())
    }
}

type Messages = (mpsc::Sender<v1::StreamMessageRequest>, Streaming<v1::StreamMessageResponse>);

/// Opens a stream to a device.
async fn arbitrate(stub: &mut Stub, device_id: u64, role: &str) -> Result<Messages, Status> {
    let (to, messages) = mpsc::channel(4);
    let mut answers = stub.stream_channel(ReceiverStream::new(messages)).await?.into_inner();
    let role = (!role.is_empty()).then(|| v1::Role { name: role.into(), ..Default::default() });
    let election_id = Some(v1::Uint128 { high: 0, low: 1 });
    let update = v1::MasterArbitrationUpdate { device_id, role, election_id, ..Default::default() };
    let update = Some(v1::stream_message_request::Update::Arbitration(update));
    let _ = to.send(v1::StreamMessageRequest { update }).await;
    match answers.next().await.expect("an answer")?.update {
        Some(Update::Arbitration(_)) => Ok((to, answers)),
        other => panic!("{other:?}"),
    }
}

/// How a stream ends.
async fn end(answers: &mut Streaming<v1::StreamMessageResponse>) -> Code {
    loop {
        match tokio::time::timeout(PATIENCE, answers.next()).await.expect("the stream goes on") {
            Some(Ok(_)) => {}
            Some(Err(status)) => return status.code(),
            None => return Code::Ok,
        }
    }
}

fn register(index: i64, value: u8) -> v1::Entity {
    let data = v1::P4Data { data: Some(v1::p4_data::Data::Bitstring(vec![value].into())) };
    let cell = v1::RegisterEntry { register_id: 0, index: Some(v1::Index { index }), data: Some(data) };
    v1::Entity { entity: Some(v1::entity::Entity::RegisterEntry(cell)) }
}

async fn put(stub: &mut Stub, device_id: u64, role: &str) -> Result<(), Code> {
    let group = v1::MulticastGroupEntry { multicast_group_id: 7, ..Default::default() };
    let engine = v1::PacketReplicationEngineEntry {
        r#type: Some(v1::packet_replication_engine_entry::Type::MulticastGroupEntry(group)),
    };
    let entity = v1::Entity { entity: Some(v1::entity::Entity::PacketReplicationEngineEntry(engine)) };
    let update = v1::Update { r#type: v1::update::Type::Insert.into(), entity: Some(entity) };
    let request = v1::WriteRequest {
        device_id,
        role: role.into(),
        election_id: Some(v1::Uint128 { high: 0, low: 1 }),
        updates: vec![update],
        ..Default::default()
    };
    stub.write(request).await.map(drop).map_err(|s| s.code())
}

async fn read(stub: &mut Stub, device_id: u64, role: &str) -> Result<usize, Code> {
    let request = v1::ReadRequest { device_id, role: role.into(), entities: vec![register(0, 0)] };
    let mut answers = stub.read(request).await.map_err(|s| s.code())?.into_inner();
    let mut count = 0;
    while let Some(answer) = answers.next().await {
        count += answer.map_err(|s| s.code())?.entities.len();
    }
    Ok(count)
}

async fn config(stub: &mut Stub, device_id: u64) -> Result<(), Code> {
    let request = v1::GetForwardingPipelineConfigRequest { device_id, ..Default::default() };
    stub.get_forwarding_pipeline_config(request).await.map(drop).map_err(|s| s.code())
}

async fn push(stub: &mut Stub, device_id: u64) -> Result<(), Code> {
    let config = v1::ForwardingPipelineConfig { p4_device_config: SOURCE.as_bytes().into(), ..Default::default() };
    let request = v1::SetForwardingPipelineConfigRequest {
        device_id,
        election_id: Some(v1::Uint128 { high: 0, low: 1 }),
        action: v1::set_forwarding_pipeline_config_request::Action::VerifyAndCommit.into(),
        config: Some(config),
        ..Default::default()
    };
    stub.set_forwarding_pipeline_config(request).await.map(drop).map_err(|s| s.code())
}

#[test]
fn a_device_of_others_does_not_exist() {
    let access = Access::Clients(vec![
        client("red", Some(&[1]), None, true),
        client("spiffe://example.org/blue", Some(&[2]), None, false),
        client("operator", None, None, true),
    ]);
    let secure = Secure::start(access, [device(1), device(2)]);
    Runtime::new().unwrap().block_on(async {
        let red = &mut secure.connect(&secure.authority.sign("red", Vec::new())).await;
        let blue = &mut secure.connect(&secure.authority.sign("any", vec![uri("spiffe://example.org/blue")])).await;
        let operator = &mut secure.connect(&secure.authority.sign("operator", Vec::new())).await;
        let nobody = &mut secure.connect(&secure.authority.sign("nobody", Vec::new())).await;

        // As if it were not there: every call, and the stream.
        let absent = put(red, 77, "").await.unwrap_err();
        assert_eq!(absent, Code::NotFound);
        for (stub, other) in [(&mut *red, 2), (&mut *blue, 1), (&mut *nobody, 2)] {
            assert_eq!(put(stub, other, "").await.unwrap_err(), absent);
            assert_eq!(read(stub, other, "").await.unwrap_err(), absent);
            assert_eq!(config(stub, other).await.unwrap_err(), absent);
            assert_eq!(push(stub, other).await.unwrap_err(), absent);
        }
        assert_eq!(arbitrate(red, 2, "").await.unwrap_err().code(), absent);
        assert_eq!(arbitrate(nobody, 2, "").await.unwrap_err().code(), Code::PermissionDenied);

        // Its own.
        let _red = arbitrate(red, 1, "").await.unwrap();
        put(red, 1, "").await.unwrap();
        push(red, 1).await.unwrap();
        let blues = arbitrate(blue, 2, "").await.unwrap();
        put(blue, 2, "").await.unwrap();
        assert_eq!(push(blue, 2).await.unwrap_err(), Code::PermissionDenied);
        drop(blues);
        assert!(read(operator, 1, "").await.unwrap() > 0 && read(operator, 2, "").await.unwrap() > 0);
    });
}

#[test]
fn a_client_has_the_roles_it_was_given() {
    let access = Access::Clients(vec![client("acl", Some(&[1]), Some(&["acl"]), false)]);
    let secure = Secure::start(access, [device(1)]);
    Runtime::new().unwrap().block_on(async {
        let stub = &mut secure.connect(&secure.authority.sign("acl", Vec::new())).await;
        assert_eq!(arbitrate(stub, 1, "").await.unwrap_err().code(), Code::PermissionDenied);
        assert_eq!(arbitrate(stub, 1, "other").await.unwrap_err().code(), Code::PermissionDenied);
        let _open = arbitrate(stub, 1, "acl").await.unwrap();
        put(stub, 1, "acl").await.unwrap();
        assert_eq!(put(stub, 1, "").await.unwrap_err(), Code::PermissionDenied);
        assert_eq!(read(stub, 1, "").await.unwrap_err(), Code::PermissionDenied);
        assert!(read(stub, 1, "acl").await.is_ok());
    });
}

#[test]
fn devices_and_rights_change_under_streams() {
    let access = |devices: &[u64]| Access::Clients(vec![client("red", Some(devices), None, true)]);
    let secure = Secure::start(access(&[1, 2]), [device(1)]);
    Runtime::new().unwrap().block_on(async {
        let stub = &mut secure.connect(&secure.authority.sign("red", Vec::new())).await;
        assert_eq!(put(stub, 2, "").await.unwrap_err(), Code::NotFound);
        let (_to_first, mut first) = arbitrate(stub, 1, "").await.unwrap();
        secure.server.add(device(2)).unwrap();
        assert!(secure.server.add(device(2)).is_err());
        let (_to_second, mut second) = arbitrate(stub, 2, "").await.unwrap();
        put(stub, 2, "").await.unwrap();

        secure.server.remove(2).unwrap();
        assert_eq!(end(&mut second).await, Code::NotFound);
        assert_eq!(put(stub, 2, "").await.unwrap_err(), Code::NotFound);
        // The other one's controller has noticed nothing.
        put(stub, 1, "").await.unwrap();

        secure.server.set_access(access(&[2]));
        assert_eq!(end(&mut first).await, Code::NotFound);
        assert_eq!(put(stub, 1, "").await.unwrap_err(), Code::NotFound);

        // Another device with the id is another device.
        secure.server.add(device(2)).unwrap();
        assert_eq!(put(stub, 2, "").await.unwrap_err(), Code::PermissionDenied);
        let _third = arbitrate(stub, 2, "").await.unwrap();
        put(stub, 2, "").await.unwrap();
    });
}

#[test]
fn streams_that_ask_for_nothing_keep_nobody_out() {
    let access = Access::Clients(vec![client("red", Some(&[1]), None, true), client("blue", Some(&[2]), None, true)]);
    let secure = Secure::start(access, [device(1), device(2)]);
    Runtime::new().unwrap().block_on(async {
        let red = &mut secure.connect(&secure.authority.sign("red", Vec::new())).await;
        let blue = &mut secure.connect(&secure.authority.sign("blue", Vec::new())).await;
        let mut open = Vec::new();
        let refused = loop {
            let (to, messages) = mpsc::channel::<v1::StreamMessageRequest>(1);
            match red.stream_channel(ReceiverStream::new(messages)).await {
                Ok(answers) => open.push((to, answers)),
                Err(status) => break status,
            }
            assert!(open.len() < 1000);
        };
        assert_eq!(refused.code(), Code::ResourceExhausted);
        let _blue = arbitrate(blue, 2, "").await.unwrap();
        put(blue, 2, "").await.unwrap();
    });
}

#[test]
fn answers_that_nobody_reads_keep_only_their_device_waiting() {
    let access = Access::Clients(vec![client("red", Some(&[1]), None, true), client("blue", Some(&[2]), None, true)]);
    let secure = Secure::start(access, [device(1), device(2)]);
    Runtime::new().unwrap().block_on(async {
        let red = &mut secure.connect(&secure.authority.sign("red", Vec::new())).await;
        let blue = &mut secure.connect(&secure.authority.sign("blue", Vec::new())).await;
        let mut open = Vec::new();
        // Each asks for all cells very often, and reads nothing.
        let refused = loop {
            let everything = v1::RegisterEntry { register_id: 0, index: None, data: None };
            let entity = v1::Entity { entity: Some(v1::entity::Entity::RegisterEntry(everything)) };
            let request = v1::ReadRequest { device_id: 1, entities: vec![entity; 20_000], ..Default::default() };
            match red.read(request).await {
                Ok(answers) => open.push(answers),
                Err(status) => break status,
            }
            assert!(open.len() < 1000);
        };
        assert_eq!(refused.code(), Code::ResourceExhausted);
        let _blue = arbitrate(blue, 2, "").await.unwrap();
        put(blue, 2, "").await.unwrap();
        assert!(read(blue, 2, "").await.unwrap() > 0);
    });
}

/// A batch of as many bytes, of which no update is valid.
fn long(device_id: u64, bytes: usize) -> v1::WriteRequest {
    let value = v1::P4Data { data: Some(v1::p4_data::Data::Bitstring(vec![1; 1 << 20].into())) };
    let cell = v1::RegisterEntry { register_id: 1, index: Some(v1::Index { index: 0 }), data: Some(value) };
    let entity = Some(v1::Entity { entity: Some(v1::entity::Entity::RegisterEntry(cell)) });
    let update = v1::Update { r#type: v1::update::Type::Modify.into(), entity };
    v1::WriteRequest { device_id, updates: vec![update; bytes >> 20], ..Default::default() }
}

#[test]
fn others_are_served_beside_a_flood_of_long_messages() {
    let access = Access::Clients(vec![client("red", Some(&[1]), None, true), client("blue", Some(&[2]), None, true)]);
    let secure = Secure::start(access, [device(1), device(2)]);
    Runtime::new().unwrap().block_on(async {
        let red = secure.connect(&secure.authority.sign("red", Vec::new())).await;
        let blue = &mut secure.connect(&secure.authority.sign("blue", Vec::new())).await;
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let mut floods = Vec::new();
        for _ in 0..12 {
            let (mut red, stop) = (red.clone(), stop.clone());
            floods.push(tokio::spawn(async move {
                let mut refused = 0;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let status = red.write(long(1, 8 << 20)).await.unwrap_err();
                    assert_eq!(status.code(), Code::PermissionDenied, "{status}");
                    refused += 1;
                }
                refused
            }));
        }
        let served = async {
            let _blue = arbitrate(blue, 2, "").await.unwrap();
            put(blue, 2, "").await.unwrap();
            for _ in 0..20 {
                assert!(read(blue, 2, "").await.unwrap() > 0);
            }
        };
        tokio::time::timeout(PATIENCE, served).await.expect("the other tenant is not served");
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        for flood in floods {
            assert!(tokio::time::timeout(PATIENCE, flood).await.expect("the flood goes on").unwrap() > 0);
        }
    });
}
