//! A whole board in simulation agrees with the interpreter: frames enter by GMII, and the driver reaches the registers by Etherbone.
//!
//! Needs verilator 5 and a C++ compiler: `make test-rtl`.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};

use hopwright_dataplane::{EngineKind, FrameSize, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_ir::{ActionCall, ExternId, ExternKind, MatchValue, Pipeline, TableEntry, TableId};
use hopwright_offload::BoardDesign;
use hopwright_rtl::driver::Registers;
use hopwright_rtl::simulation::board::{self, BoardSimulation};
use hopwright_rtl::{Board, Etherbone, simulation};
use hopwright_stf::{DataPlaneEngine, Engine};
use num_bigint::BigUint;

/// A table of each kind, counters and registers.
const PROGRAM: &str = include_str!("board.p4");

/// Ports of the board.
const PORTS: u16 = 2;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(n)) as u32
    }
}

fn compile(text: &str) -> Arc<Pipeline> {
    let compiled = compile_text("board.p4", text, &Default::default(), true);
    let report = compiled.report(false);
    Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{report}")))
}

fn start(pipeline: &Arc<Pipeline>) -> (Board, std::path::PathBuf) {
    let board = Board::by_name("colorlight-i9").unwrap();
    let hardware = hopwright_rtl::compile(pipeline, &board.target()).expect("the program is not refused");
    // One test builds it for all.
    static BUILD: Mutex<()> = Mutex::new(());
    let _guard = BUILD.lock().unwrap_or_else(PoisonError::into_inner);
    let program = board::build(&board, &hardware, &simulation::cache()).unwrap_or_else(|e| panic!("{e}"));
    (board, program)
}

/// A data plane whose driver has begun on the board.
fn attach(pipeline: &Arc<Pipeline>, board: &Board, simulation: &BoardSimulation) -> DataPlaneEngine {
    attach_at(pipeline, board, simulation.control())
}

fn attach_at(pipeline: &Arc<Pipeline>, board: &Board, address: SocketAddr) -> DataPlaneEngine {
    let design = BoardDesign::connect(pipeline, &board.target(), &address.to_string());
    let design = design.unwrap_or_else(|e| panic!("{e}: {:?}", std::error::Error::source(&e)));
    let vdp = VirtualDataPlane::offloaded(pipeline.clone(), Box::new(design)).unwrap();
    DataPlaneEngine::new(vdp, FrameSize::JUMBO).unwrap()
}

fn interpreter(pipeline: &Arc<Pipeline>) -> DataPlaneEngine {
    let vdp = VirtualDataPlane::new(pipeline.clone(), EngineKind::Interp).unwrap();
    DataPlaneEngine::new(vdp, FrameSize::JUMBO).unwrap()
}

fn big(value: impl Into<BigUint>) -> BigUint {
    value.into()
}

/// The address with this number; there are few, so that entries meet packets.
fn address(number: u32) -> u32 {
    0x0a00_0000 | (number & 3) << 16 | (number >> 2 & 7) << 8 | number >> 5 & 3
}

/// Adds entries at random to all tables of both.
fn program(pipeline: &Pipeline, random: &mut Random, engines: &mut [&mut DataPlaneEngine]) {
    let table = |name: &str| pipeline.table_by_name(name).unwrap();
    let action = |table: TableId, number: usize, args: Vec<BigUint>| ActionCall {
        action: pipeline[table].actions[number].action,
        args,
    };
    for number in 0..60 {
        let port = random.below(8) & 5;
        let (id, matches, call, priority) = match number % 3 {
            0 => {
                let id = table("macs");
                (
                    id,
                    vec![MatchValue::Exact(big(0x0200_0000_0000u64 + u64::from(random.below(64))))],
                    action(id, 0, vec![big(port)]),
                    0,
                )
            }
            1 => {
                let (id, prefix_len) = (table("routes"), [0, 8, 16, 24, 32, 30][random.below(6) as usize]);
                let value = if prefix_len == 0 {
                    0
                } else {
                    address(random.below(256)) >> (32 - prefix_len) << (32 - prefix_len)
                };
                let mac = |n: u32| big(0x0400_0000_0000u64 + u64::from(n));
                let call = action(id, 0, vec![big(port), mac(random.below(100)), mac(random.below(100))]);
                (id, vec![MatchValue::Lpm { value: big(value), prefix_len }], call, 0)
            }
            _ => {
                let id = table("acl");
                let masks = [0xffff_0000u32, 0xffff_ff00, u32::MAX];
                let mask = masks[random.below(3) as usize];
                let source = MatchValue::Ternary { value: big(address(random.below(256)) & mask), mask: big(mask) };
                let protocol = if random.below(2) == 0 { (0u8, 0u8) } else { (17, 0xff) };
                let protocol = MatchValue::Ternary { value: big(protocol.0), mask: big(protocol.1) };
                (id, vec![source, protocol], action(id, usize::from(random.below(4) == 0), vec![]), number + 1)
            }
        };
        let entry = TableEntry { matches, priority, action: call };
        // An entry that is there already is refused by both.
        let results: Vec<_> = engines.iter_mut().map(|engine| engine.insert(id, entry.clone()).is_ok()).collect();
        assert!(results.iter().all(|ok| *ok == results[0]), "entry {number}: {results:?}");
    }
}

fn packet(random: &mut Random, number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend([2, 0, 0, 0, 0, random.below(64) as u8, 2, 0, 0, 0, 1, 1]);
    if random.below(4) == 0 {
        bytes.extend([0x88, 0xb5]);
    } else {
        bytes.extend([
            8,
            0,
            0x45,
            0,
            0,
            40,
            0,
            0,
            0,
            0,
            1 + random.below(3) as u8,
            if random.below(2) == 0 { 17 } else { 6 },
            0,
            0,
        ]);
        bytes.extend(address(random.below(256)).to_be_bytes());
        bytes.extend(address(random.below(256)).to_be_bytes());
    }
    bytes.extend(number.to_be_bytes());
    let longest = if random.below(10) == 0 { 1400 } else { 100 };
    let length = 60 + random.below(longest) as usize;
    bytes.resize(length, random.below(256) as u8);
    bytes
}

/// Sends packets to both ports of the board, and compares what leaves with the interpreter, then counters and registers.
fn compare(
    pipeline: &Pipeline,
    random: &mut Random,
    count: u32,
    simulation: &mut BoardSimulation,
    driver: &mut DataPlaneEngine,
    interp: &mut DataPlaneEngine,
) {
    let mut forwarded = 0;
    for batch in 0..count.div_ceil(100) {
        let mut wanted = Vec::new();
        for number in 100 * batch..(100 * batch + 100).min(count) {
            let (port, bytes) = (random.below(u32::from(PORTS)) as u16, packet(random, number));
            simulation.send(port, &bytes).unwrap();
            wanted.extend(interp.process(port, &bytes, 0).unwrap().sent);
        }
        wanted.retain(|(port, _)| *port < PORTS);
        let mut found: Vec<_> = simulation.settle().unwrap().into_iter().map(|sent| (sent.port, sent.bytes)).collect();
        forwarded += found.len();
        // Packets of different ports leave in any order.
        wanted.sort();
        found.sort();
        assert_eq!(wanted.len(), found.len(), "batch {batch}");
        for (wanted, found) in wanted.iter().zip(&found) {
            assert_eq!(wanted, found, "batch {batch}");
        }
    }
    assert!(forwarded as u32 > count / 8, "only {forwarded} of {count} packets are forwarded");
    for (number, object) in pipeline.externs.iter().enumerate() {
        let id = ExternId(number as u32);
        for index in 0..16 {
            match object.kind {
                ExternKind::Counter { .. } => {
                    assert_eq!(interp.counter(id, index), driver.counter(id, index), "{}[{index}]", object.name)
                }
                ExternKind::Register { .. } => {
                    assert_eq!(interp.register(id, index), driver.register(id, index), "{}[{index}]", object.name)
                }
                _ => {}
            }
        }
    }
}

#[test]
#[ignore = "needs verilator"]
fn a_board_agrees() {
    let pipeline = compile(PROGRAM);
    let (board, program_file) = start(&pipeline);
    let mut simulation = BoardSimulation::start(&program_file, None).unwrap();
    let mut driver = attach(&pipeline, &board, &simulation);
    let mut interp = interpreter(&pipeline);
    let mut random = Random(1);
    // Tables change between packets, too.
    for _ in 0..4 {
        program(&pipeline, &mut random, &mut [&mut interp, &mut driver]);
        compare(&pipeline, &mut random, 500, &mut simulation, &mut driver, &mut interp);
    }
}

/// Passes datagrams of a client on to a server, and answers back but each sixth. Runs until the test ends.
fn lossy(server: SocketAddr) -> SocketAddr {
    let (front, back) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let address = front.local_addr().unwrap();
    back.connect(server).unwrap();
    let client: Arc<Mutex<Option<SocketAddr>>> = Arc::default();
    let (answers, to, known) = (back.try_clone().unwrap(), front.try_clone().unwrap(), client.clone());
    std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        for number in 0u32.. {
            let Ok(length) = answers.recv(&mut buffer) else { return };
            let client = *known.lock().unwrap();
            if let Some(client) = client.filter(|_| number % 6 != 5) {
                let _ = to.send_to(&buffer[..length], client);
            }
        }
    });
    std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = front.recv_from(&mut buffer) {
            *client.lock().unwrap() = Some(from);
            let _ = back.send(&buffer[..length]);
        }
    });
    address
}

/// Answers get lost, and requests are made again.
#[test]
#[ignore = "needs verilator"]
fn a_driver_whose_answers_get_lost_agrees() {
    let pipeline = compile(PROGRAM);
    let (board, program_file) = start(&pipeline);
    let mut simulation = BoardSimulation::start(&program_file, None).unwrap();
    let mut driver = attach_at(&pipeline, &board, lossy(simulation.control()));
    let mut interp = interpreter(&pipeline);
    let mut random = Random(3);
    program(&pipeline, &mut random, &mut [&mut interp, &mut driver]);
    compare(&pipeline, &mut random, 500, &mut simulation, &mut driver, &mut interp);
}

/// A driver that ends leaves entries, counts and registers behind. The next one meets none of them.
#[test]
#[ignore = "needs verilator"]
fn a_restarted_driver_agrees() {
    let pipeline = compile(PROGRAM);
    let (board, program_file) = start(&pipeline);
    let mut simulation = BoardSimulation::start(&program_file, None).unwrap();
    let mut random = Random(2);
    let mut first = attach(&pipeline, &board, &simulation);
    program(&pipeline, &mut random, &mut [&mut first]);
    for number in 0..100 {
        simulation.send(0, &packet(&mut random, number)).unwrap();
    }
    simulation.settle().unwrap();
    drop(first);
    let mut second = attach(&pipeline, &board, &simulation);
    let mut interp = interpreter(&pipeline);
    program(&pipeline, &mut random, &mut [&mut interp, &mut second]);
    compare(&pipeline, &mut random, 3000, &mut simulation, &mut second, &mut interp);
}

/// A frame as the line has it.
fn line(frame: &[u8]) -> Vec<u8> {
    let crc = !frame.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    });
    [&[0x55; 7][..], &[0xd5], frame, &crc.to_le_bytes()].concat()
}

#[test]
#[ignore = "needs verilator"]
fn what_ports_drop_and_count_agrees() {
    let pipeline = compile(PROGRAM);
    let (board, program_file) = start(&pipeline);
    let mut simulation = BoardSimulation::start(&program_file, None).unwrap();
    let mut driver = attach(&pipeline, &board, &simulation);
    let mut registers = Etherbone::connect(&simulation.control().to_string()).unwrap();
    let table = pipeline.table_by_name("macs").unwrap();
    let action = pipeline[table].actions[0].action;
    for (mac, port) in [(0x0200_0000_0001u64, 0u8), (0x0200_0000_0002, 1), (0x0200_0000_0003, 7)] {
        let action = ActionCall { action, args: vec![big(port)] };
        driver.insert(table, TableEntry { matches: vec![MatchValue::Exact(big(mac))], priority: 0, action }).unwrap();
    }
    let frame = |to: u8, length: usize| {
        let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 1, 1, 0x88, 0xb5];
        frame.resize(length, length as u8);
        frame
    };
    // What no MAC takes, with good frames around it.
    let mut wrong = line(&frame(2, 100));
    wrong[50] ^= 1;
    let short = line(&frame(2, 59));
    let long = line(&frame(2, 1537));
    let mut no_delimiter = line(&frame(2, 100));
    no_delimiter[3] = 0x51;
    let good = [60, 61, 62, 63, 64, 1535, 1536];
    for length in good {
        for bad in [&wrong, &short, &long, &no_delimiter, &long[..9], &wrong[..3]] {
            simulation.send_line(1, bad).unwrap();
        }
        // A preamble may be shorter.
        simulation.send_line(1, &line(&frame(2, length))[4..]).unwrap();
    }
    let lengths: Vec<usize> = simulation.settle().unwrap().iter().map(|sent| sent.bytes.len()).collect();
    assert_eq!(lengths, good);
    let count = |registers: &mut Etherbone| registers.read(&[0x10000, 0x10004, 0x10008, 0x1000c, 0x10010]).unwrap();
    // Those without a delimiter or without a byte are no frames.
    assert_eq!(count(&mut registers), [0, 3 * good.len() as u32, 0, 0, 0]);

    // Twice as much for one port as it can send; the other one has what is for it, and what is for none is counted.
    let mut expected = 0;
    for number in 0..150 {
        for port in 0..PORTS {
            simulation.send(port, &frame(2, 1000)).unwrap();
        }
        simulation.send(0, &frame(1, 100 + number)).unwrap();
        simulation.send(1, &frame(3, 100)).unwrap();
        expected += 1;
    }
    let left = simulation.settle().unwrap();
    let to = |port: u16| left.iter().filter(|sent| sent.port == port).count() as u32;
    let counts = count(&mut registers);
    assert_eq!((to(0), counts[0], counts[1], counts[2], counts[4]), (expected, 0, 3 * good.len() as u32, 0, expected));
    assert_eq!(to(1) + counts[3], 2 * expected);
    assert!(counts[3] > expected / 2, "{counts:?}");
}

#[test]
#[ignore = "needs verilator"]
fn what_a_board_runs_and_whether_it_was_reset_agrees() {
    let pipeline = compile(PROGRAM);
    let (board, program_file) = start(&pipeline);
    let simulation = BoardSimulation::start(&program_file, None).unwrap();
    let address = simulation.control();

    let other = compile(&PROGRAM.replace("hdr.ipv4.ttl - 1", "hdr.ipv4.ttl - 2"));
    let error = BoardDesign::connect(&other, &board.target(), &address.to_string()).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("runs another design"), "{source}");

    let mut driver = attach(&pipeline, &board, &simulation);
    let table = pipeline.table_by_name("macs").unwrap();
    let action = pipeline[table].actions[0].action;
    let entry = |mac: u32| TableEntry {
        matches: vec![MatchValue::Exact(big(mac))],
        priority: 0,
        action: ActionCall { action, args: vec![big(1u8)] },
    };
    driver.insert(table, entry(1)).unwrap();
    drop(simulation);
    let _restarted = BoardSimulation::start(&program_file, Some(address.port())).unwrap();
    for mac in 2..4 {
        let error = driver.insert(table, entry(mac)).unwrap_err().to_string();
        assert!(error.contains("has been reset"), "{error}");
    }
}
