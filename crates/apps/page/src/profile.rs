//! Which nodes of a program's graphs packets pass, estimated from samples.
//!
//! A thread takes samples as long as somebody looks: a second's samples are up to [`PACKETS`] packets, which the worker copies within
//! [`WINDOW`]. It copies none the rest of the time. The interpreter runs the copies in the shadow of the data plane.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hopwright_dataplane::{ShadowExecution, Tenant, wait};
use hopwright_interp::{Event, Observer};
use hopwright_ir::Span;
use serde_json::{Value, json};

use crate::program::{NodeIndex, Program};

/// Packets of one second that are looked at.
const PACKETS: usize = 64;
/// The longest time in each second in which packets are copied.
const WINDOW: Duration = Duration::from_millis(800);
/// From the beginning of one window to the next.
const PERIOD: Duration = Duration::from_secs(1);
/// How long samples are taken after somebody has looked.
const INTEREST: Duration = Duration::from_secs(5);
/// What remains of the weight of earlier samples a second later.
const DECAY: f64 = 0.8;

/// Counts of nodes, while somebody looks at them.
#[derive(Default)]
pub(crate) struct Profile(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    /// The program that they are of.
    program: u64,
    looked: Option<Instant>,
    running: bool,
    /// Packets, with earlier ones counting less.
    packets: f64,
    /// By node: packets that passed it, weighted in the same way.
    nodes: Vec<f64>,
    /// Why there are none.
    problem: Option<String>,
}

impl Profile {
    /// What share of the packets passes each node. Samples are taken from now on, for a while.
    pub(crate) fn look(&self, tenant: &Arc<Tenant>, program: &Arc<Program>) -> Value {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.program != program.number {
            *counts = Counts { program: program.number, running: counts.running, ..Counts::default() };
        }
        counts.looked = Some(Instant::now());
        if !counts.running {
            let (tenant, program, shared) = (tenant.clone(), program.clone(), self.0.clone());
            let thread = std::thread::Builder::new().name("page-profile".into());
            counts.running = thread.spawn(move || run(&tenant, &program, &shared)).is_ok();
        }
        let shares: Vec<f64> =
            counts.nodes.iter().map(|n| if counts.packets > 0.0 { n / counts.packets } else { 0.0 }).collect();
        json!({ "packets": counts.packets.round(), "shares": shares, "problem": counts.problem })
    }
}

/// Takes samples of a program until nobody looks, or another program runs.
fn run(tenant: &Arc<Tenant>, program: &Arc<Program>, shared: &Mutex<Counts>) {
    wait::give_way();
    let index = NodeIndex::new(&program.graphs);
    let mut shadow = match ShadowExecution::new(program.vdp.clone()) {
        Ok(shadow) => shadow,
        Err(error) => {
            let mut counts = shared.lock().unwrap_or_else(PoisonError::into_inner);
            // Stays as if it ran, so that the next look does not try again.
            counts.problem = Some(error.to_string());
            return;
        }
    };
    loop {
        let began = Instant::now();
        let sampled = sample(tenant, &index, &mut shadow, began);
        {
            let mut counts = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let looked = counts.looked.is_some_and(|at| at.elapsed() < INTEREST);
            if !looked || tenant.stopping() || counts.program != program.number {
                counts.running = false;
                return;
            }
            match sampled {
                Ok(passed) => counts.add(&passed, index.count),
                Err(problem) => counts.problem = Some(problem),
            }
        }
        std::thread::sleep(PERIOD.saturating_sub(began.elapsed()));
    }
}

impl Counts {
    fn add(&mut self, passed: &[HashSet<usize>], nodes: usize) {
        self.problem = None;
        self.nodes.resize(nodes, 0.0);
        self.packets *= DECAY;
        self.nodes.iter_mut().for_each(|n| *n *= DECAY);
        self.packets += passed.len() as f64;
        passed.iter().flatten().for_each(|node| self.nodes[*node] += 1.0);
    }
}

/// The nodes that each sampled packet passed.
fn sample(
    tenant: &Arc<Tenant>,
    index: &NodeIndex,
    shadow: &mut ShadowExecution,
    began: Instant,
) -> Result<Vec<HashSet<usize>>, String> {
    let mut packets = Vec::with_capacity(PACKETS);
    {
        let sampling = tenant.sample(None).map_err(|e| e.to_string())?;
        while packets.len() < PACKETS && !tenant.stopping() {
            let left = WINDOW.saturating_sub(began.elapsed());
            let copy = sampling.next(left, |s| (s.bytes().to_vec(), s.ingress_port() as u16, s.time_us()));
            let Some(copy) = copy else { break };
            packets.push(copy);
        }
        // From here on the worker copies nothing.
    }
    let passed = packets.iter().map(|(bytes, port, time)| {
        let mut visits = Visits { index, nodes: HashSet::new() };
        shadow.process(bytes, *port, *time, &mut visits);
        visits.nodes
    });
    Ok(passed.collect())
}

struct Visits<'a> {
    index: &'a NodeIndex,
    nodes: HashSet<usize>,
}

impl Visits<'_> {
    fn statement(&mut self, span: Span) {
        self.nodes.extend(self.index.statement(span));
    }
}

impl Observer for Visits<'_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::State { state, .. } => self.nodes.extend(self.index.state(state.0)),
            Event::Table { table, span, .. } => self.nodes.extend(self.index.table(table.0, *span)),
            Event::Assign { span, .. }
            | Event::Validity { span, .. }
            | Event::Log { span, .. }
            | Event::Emit { span, .. } => self.statement(*span),
            Event::Extern { call, .. } => self.statement(call.span),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_samples_count_less() {
        let mut counts = Counts::default();
        counts.add(&[HashSet::from([0, 1]), HashSet::from([0])], 3);
        assert_eq!((counts.packets, counts.nodes.as_slice()), (2.0, &[2.0, 1.0, 0.0][..]));
        counts.add(&[], 3);
        assert_eq!((counts.packets, counts.nodes[1]), (2.0 * DECAY, DECAY));
    }
}
