//! Packets back to back: none is lost, all are right, and none takes more cycles than the design claims.

use super::*;

/// More than there are places in the packet store and in FIFOs.
const MANY: usize = 4000;

/// Sends packets of a test that are forwarded, made as long as these, in turn.
fn at_line_rate(path: &str, target: &Target, lengths: &[usize]) {
    let (mut pipeline, script) = program(path);
    pipeline.tables.iter_mut().for_each(|table| table.size = table.size.min(256));
    let pipeline = Arc::new(pipeline);
    let script = hopwright_stf::parse("script", &script).unwrap();
    let (hardware, simulation) = verilate(&pipeline, target);
    let mut interp: Interp = interpreter(&pipeline);
    hopwright_stf::configure(&script, &mut interp).unwrap();
    let mut design = Simulation::start(&simulation, None).unwrap();
    program_tables(&pipeline, &hardware, &interp, &mut design);
    let sent = |interp: &mut Interp, (port, bytes): &(u16, Vec<u8>)| sent(interp.process(bytes, *port, 0)).pop();
    let bases: Vec<_> = packets_of(&script).into_iter().filter(|base| sent(&mut interp, base).is_some()).collect();
    let packets: Vec<(u16, Vec<u8>)> = bases
        .iter()
        .flat_map(|(port, bytes)| lengths.iter().map(move |length| (*port, bytes, *length)))
        .map(|(port, bytes, length)| (port, bytes.iter().copied().chain(std::iter::repeat(0)).take(length).collect()))
        .collect();
    let wanted: Vec<_> = packets.iter().map(|packet| sent(&mut interp, packet).expect("is forwarded")).collect();
    for (port, bytes) in packets.iter().cycle().take(MANY) {
        design.send(*port, 0, bytes).unwrap();
    }
    let all = design.settle().unwrap();
    assert_eq!(all.len(), MANY);
    for (wanted, copies) in wanted.iter().cycle().zip(all) {
        assert_eq!(found(copies), std::slice::from_ref(wanted));
    }
    let timing = design.timing();
    let words = |bytes: usize| bytes.div_ceil(target.bus_bytes as usize);
    let gap = hardware.verilog.gap as usize;
    let each =
        packets.iter().zip(&wanted).map(|((_, bytes), (_, out))| words(bytes.len()).max(words(out.len())).max(gap));
    let (claimed, taken) = (each.sum::<usize>() as f64 / packets.len() as f64, timing.cycles_per_packet(MANY));
    println!(
        "{} {} {lengths:?} bytes: {taken:.3} cycles a packet, {:.1} million a second, latency {} to {} cycles, {:.0} ns at least",
        pipeline.name,
        target.name,
        f64::from(target.clock_mhz) / taken,
        timing.shortest,
        timing.longest,
        timing.shortest as f64 * 1000.0 / f64::from(target.clock_mhz)
    );
    assert_eq!(timing.dropped, 0);
    // Filling the pipeline counts, too.
    assert!(taken < claimed + 0.05, "{taken} cycles a packet, not {claimed}: {timing:?}");
}

/// The shortest frames, a byte more than a word, the longest of Ethernet, and a mix.
fn lengths(target: &Target) -> [Vec<usize>; 4] {
    let word = target.bus_bytes as usize;
    [vec![60], vec![word * 2 + 1], vec![1514], vec![60, word * 2 + 1, word * 3, 60]]
}

#[test]
#[ignore = "needs verilator"]
fn an_l2_switch_keeps_line_rate() {
    targets().iter().for_each(|target| lengths(target).iter().for_each(|l| at_line_rate("examples/l2.p4", target, l)));
}

#[test]
#[ignore = "needs verilator"]
fn an_l3_router_keeps_line_rate() {
    targets().iter().for_each(|target| lengths(target).iter().for_each(|l| at_line_rate("examples/l3.p4", target, l)));
}
