//! What controllers that send much and read nothing cost. A program of its own, since it measures the memory of its process.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hopwright_dataplane::{EngineKind, SwitchBuilder, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_p4runtime::proto::config::ControllerPacketMetadata;
use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{Access, Device, EnginePolicy, Options, Program, Server};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;
use v1::p4_runtime_client::P4RuntimeClient;
use v1::stream_message_response::Update;

const SOURCE: &str = include_str!("../../../../tests/p4runtime/basic.p4");

fn packet_out(bytes: usize) -> v1::StreamMessageRequest {
    let packet = v1::PacketOut { payload: vec![1; bytes].into(), metadata: Vec::new() };
    v1::StreamMessageRequest { update: Some(v1::stream_message_request::Update::Packet(packet)) }
}

/// A packet that the program sends by port 1.
fn packet_to_port_1(program: &Program) -> v1::StreamMessageRequest {
    let info = program.config.p4info.as_ref().unwrap();
    let named = |c: &&_| matches!(c, ControllerPacketMetadata { preamble: Some(p), .. } if p.name == "packet_out");
    let fields = &info.controller_packet_metadata.iter().find(named).unwrap().metadata;
    let value = |name: &str| vec![u8::from(name == "egress_port")].into();
    let metadata = fields.iter().map(|f| v1::PacketMetadata { metadata_id: f.id, value: value(&f.name) }).collect();
    let packet = v1::PacketOut { payload: vec![1; 60].into(), metadata };
    v1::StreamMessageRequest { update: Some(v1::stream_message_request::Update::Packet(packet)) }
}

/// Megabytes of memory of this process.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<usize>().unwrap() / 1024
}

#[test]
fn errors_that_nobody_reads_are_few_and_memory_comes_back() {
    let compiled = compile_text("basic.p4", SOURCE, &Default::default(), true);
    let program = Program::from_compiled(&compiled, SOURCE.as_bytes().into()).unwrap();
    let vdp = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Interp).unwrap();
    let (switch, mut worker) = SwitchBuilder::new(vdp).cpu_port(510).build().unwrap();
    std::thread::spawn(move || worker.run());
    let device = Device::new(1, switch.default_tenant().clone(), EnginePolicy::Auto).with_program(program);
    let options = Options { address: "127.0.0.1:0".parse().unwrap(), tls: None, access: Access::Everybody };
    let server = Server::start(&options, [device]).unwrap();

    Runtime::new().unwrap().block_on(async {
        let endpoint = Endpoint::from_shared(format!("http://{}", server.address())).unwrap();
        let mut stub = P4RuntimeClient::new(endpoint.connect().await.unwrap());
        let (to, messages) = mpsc::channel(1);
        let mut answers = stub.stream_channel(ReceiverStream::new(messages)).await.unwrap().into_inner();
        let before = resident();
        // Nobody has said who is primary: each is answered with an error.
        for _ in 0..400 {
            to.send(packet_out(1 << 20)).await.unwrap();
        }
        to.send(packet_out(100)).await.unwrap();
        // While it takes them, and for a while after.
        for _ in 0..50 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            assert!(resident() < before + 200, "{} MB, before {before}", resident());
        }
        let next = answers.next().await.unwrap().unwrap().update.unwrap();
        let Update::Error(error) = next else { panic!("{next:?}") };
        assert_eq!((error.message.as_str(), error.details.is_none()), ("arbitrate first", true));

        // A packet of common size is repeated in the error: that of the small packet above, or of another, if there was no room.
        to.send(packet_out(100)).await.unwrap();
        let small = async {
            loop {
                match answers.next().await.unwrap().unwrap().update.unwrap() {
                    Update::Error(error) if error.details.is_some() => break,
                    Update::Error(_) => to.send(packet_out(100)).await.unwrap(),
                    other => panic!("{other:?}"),
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), small).await.expect("an error that repeats its packet");

        drop((to, answers, stub));
        let end = Instant::now() + Duration::from_secs(60);
        while resident() >= before + 50 {
            assert!(Instant::now() < end, "{} MB, before {before}", resident());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
}

#[test]
fn packets_that_the_switch_has_no_room_for_are_refused_and_counted() {
    const PACKETS: u64 = 20_000;
    let compiled = compile_text("basic.p4", SOURCE, &Default::default(), true);
    let program = Program::from_compiled(&compiled, SOURCE.as_bytes().into()).unwrap();
    let packet = packet_to_port_1(&program);
    let vdp = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Interp).unwrap();
    // The worker does not run.
    let (switch, _worker) = SwitchBuilder::new(vdp).cpu_port(510).build().unwrap();
    let device = Device::new(1, switch.default_tenant().clone(), EnginePolicy::Auto).with_program(program);
    let options = Options { address: "127.0.0.1:0".parse().unwrap(), tls: None, access: Access::Everybody };
    let server = Server::start(&options, [device]).unwrap();

    Runtime::new().unwrap().block_on(async {
        let endpoint = Endpoint::from_shared(format!("http://{}", server.address())).unwrap();
        let mut stub = P4RuntimeClient::new(endpoint.connect().await.unwrap());
        let (to, messages) = mpsc::channel(64);
        let mut answers = stub.stream_channel(ReceiverStream::new(messages)).await.unwrap().into_inner();
        let election_id = Some(v1::Uint128 { high: 0, low: 1 });
        let arbitration = v1::MasterArbitrationUpdate { device_id: 1, election_id, ..Default::default() };
        let update = Some(v1::stream_message_request::Update::Arbitration(arbitration));
        to.send(v1::StreamMessageRequest { update }).await.unwrap();
        answers.next().await.unwrap().unwrap();
        for _ in 0..PACKETS {
            to.send(packet.clone()).await.unwrap();
        }
        let error = answers.next().await.unwrap().unwrap().update.unwrap();
        assert!(matches!(error, Update::Error(error) if error.canonical_code == tonic::Code::ResourceExhausted as i32));
        let device = &server.devices()[0];
        let counted = || {
            let [taken, refused] = [&device.counts().packets_out, &device.counts().packets_out_refused];
            (taken.load(Ordering::Relaxed), refused.load(Ordering::Relaxed))
        };
        while counted().0 + counted().1 < PACKETS {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(counted().0 > 0 && counted().1 > 0, "{:?}", counted());
        assert_eq!(counted().0 + counted().1, PACKETS);
    });
}
