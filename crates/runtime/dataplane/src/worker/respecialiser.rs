//! The thread that re-specialises the programs of a switch's tenants while packets flow.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::free_memory;
use crate::jit::Unsupported;
use crate::trace::respecialise::Specialisation;
use crate::vdp::VirtualDataPlane;
use crate::worker::switch::Switch;

/// The minimum number of packets between two checks that may lead to a decision.
const MIN_PACKETS: u64 = 10_000;

/// Number of packets in a profile.
const SAMPLE: usize = 1_024;

/// Time between two checks of a program.
const INTERVAL: Duration = Duration::from_secs(1);
/// The longest wait between two attempts.
const LONGEST: Duration = Duration::from_secs(64);

/// The state of one program's re-specialisation.
struct Watched {
    vdp: Weak<VirtualDataPlane>,
    /// The program's counts at the last check.
    counts: (u64, u64),
    /// Whether the program has had traces.
    specialised: bool,
    /// The compiler has refused the program. It would refuse it again.
    refused: bool,
    pause: Duration,
    not_before: Instant,
}

impl Watched {
    fn new(vdp: &Arc<VirtualDataPlane>) -> Watched {
        let (vdp, not_before) = (Arc::downgrade(vdp), Instant::now());
        Watched { vdp, counts: (0, 0), specialised: false, refused: false, pause: INTERVAL, not_before }
    }

    /// Re-specialises the program if packets run without traces, or at least one in eight takes a side exit. Each
    /// attempt doubles the wait before the next one, up to a minute, until the traces fit.
    fn check(&mut self, vdp: &VirtualDataPlane) {
        let now = vdp.traces().counts();
        let packets = now.0.saturating_sub(self.counts.0);
        let left = now.1.saturating_sub(self.counts.1);
        if self.refused {
            return;
        }
        if packets >= MIN_PACKETS && self.specialised && left * 8 < packets {
            self.pause = INTERVAL;
        } else if packets >= MIN_PACKETS && Instant::now() >= self.not_before {
            match profile_and_respecialise(vdp, INTERVAL) {
                Ok(found) => self.specialised |= found.is_some_and(|found| found.covered > 0),
                Err(_) => self.refused = true,
            }
            free_memory::give_back();
            self.not_before = Instant::now() + self.pause;
            self.pause = (self.pause * 2).min(LONGEST);
        } else if packets > 0 {
            match vdp.prepare_profiler() {
                Ok(true) => free_memory::give_back(),
                Ok(false) => {}
                Err(_) => self.refused = true,
            }
        }
        self.counts = vdp.traces().counts();
    }
}

/// Re-specialises the programs of a switch's tenants while packets flow, until the switch is dropped.
fn adapt(switch: &Weak<Switch>) {
    let mut watched: Vec<Watched> = Vec::new();
    std::thread::sleep(INTERVAL);
    // What it took to start.
    free_memory::give_back();
    let mut gone_lately = false;
    loop {
        let Some(tenants) = switch.upgrade().map(|switch| switch.tenants()) else { return };
        let before = watched.len();
        watched.retain(|watched| watched.vdp.strong_count() > 0);
        // What a program that is gone has had. Its control plane's threads end a little later, and free the rest.
        let gone = watched.len() < before;
        if gone || gone_lately {
            free_memory::give_back();
        }
        gone_lately = gone;
        for vdp in tenants.iter().map(|tenant| tenant.vdp()) {
            let same = watched.iter().position(|watched| watched.vdp.as_ptr() == Arc::as_ptr(&vdp));
            let at = same.unwrap_or_else(|| {
                watched.push(Watched::new(&vdp));
                watched.len() - 1
            });
            watched[at].check(&vdp);
        }
        drop(tenants);
        std::thread::sleep(INTERVAL);
    }
}

fn profile_and_respecialise(vdp: &VirtualDataPlane, longest: Duration) -> Result<Option<Specialisation>, Unsupported> {
    vdp.start_profiling(SAMPLE)?;
    let begun = Instant::now();
    while vdp.is_profiling() && begun.elapsed() < longest {
        std::thread::sleep(Duration::from_millis(10));
    }
    vdp.respecialise()
}

/// Starts a low-priority thread that re-specialises until the switch is dropped. If no thread can be started, packets
/// run the generic function.
pub(crate) fn start_respecialiser(switch: &Arc<Switch>) {
    let switch = Arc::downgrade(switch);
    let _ = std::thread::Builder::new().name("respecialiser".into()).spawn(move || {
        // At this priority, a worker on the same CPU gets three quarters of it.
        // Failure leaves the thread's priority as it is.
        let _ = rustix::process::nice(5);
        adapt(&switch);
    });
}
