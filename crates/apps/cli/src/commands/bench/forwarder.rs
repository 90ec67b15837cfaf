//! `hopwright bench forwarder`: moves frames between two devices and only swaps their Ethernet addresses, which is the floor
//! for a forwarder with the same kind of port. Runs until it is killed.

use std::os::fd::AsRawFd;
use std::time::Duration;

use hopwright_dataplane::wait::PollSet;
use hopwright_dataplane::{MAX_BATCH, Packet, Pool};
use hopwright_ports::{FrameMatch, Opener, Wanted};

use crate::cli::bench::BenchForwarderArgs;
use crate::failure::Failure;

/// Empty polling rounds before it sleeps.
const SPINS: u32 = 16;
const NAP: Duration = Duration::from_millis(50);

/// Forwards until the process is killed.
pub(crate) fn run_benchmark(args: &BenchForwarderArgs) -> Result<(), Failure> {
    let (opener, mut pools) = Opener::new(&Wanted { choice: args.ports, mtu: 9000, devices: 2, ..Wanted::default() })?;
    let mut ports = Vec::new();
    for device in [&args.from, &args.to] {
        let opened = opener.open(device, &FrameMatch::Everything).map_err(|e| Failure::message(e.to_string()))?;
        eprintln!("{device}: {}", opened.how);
        ports.extend(opened.ports);
    }
    let pool: &mut Pool = &mut pools[0];
    let mut batch: Vec<Packet> = Vec::with_capacity(MAX_BATCH);
    let mut poll = PollSet::with_capacity(ports.len());
    for fd in ports.iter().filter_map(|port| port.poll_fd()) {
        poll.add(fd.as_raw_fd());
    }
    let mut idle = 0;
    loop {
        let mut count = 0;
        for from in 0..2 {
            count += ports[from].receive(pool, &mut batch, MAX_BATCH);
            for packet in &mut batch {
                if let Some((addresses, _)) = packet.bytes_mut().split_first_chunk_mut::<12>() {
                    let (to, from) = addresses.split_at_mut(6);
                    to.swap_with_slice(from);
                }
            }
            if !batch.is_empty() {
                ports[1 - from].transmit(pool, &mut batch);
                ports[1 - from].flush();
            }
        }
        idle = if count > 0 { 0 } else { idle + 1 };
        if idle > SPINS && !ports.iter_mut().any(|port| port.pending()) {
            poll.wait(NAP);
        }
    }
}
