//! The search for runs that reach what no test reaches yet.
//!
//! Each run leaves alternatives: decisions that could have gone otherwise. Those that reach something new are tried first, then those that
//! may change what decides about it, then the others, the least tried first.

mod solve;
mod steer;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use hopwright_coverage::{Coverage, Kind, Points};
use hopwright_interp::{Interp, Output};
use hopwright_ir::Pipeline;
use hopwright_ir::hash::Random;

use crate::finish;
use crate::inputs::{Applied, Choice, Inputs, Oracle, Shared};
use crate::path::{Alternative, Run};
use crate::prove;
use crate::relevance::Relevance;
use crate::shadow::{Shadow, key_of};
use crate::solver::Solver;
use crate::test::Test;
use crate::{Generated, Options, Unreached};

/// Passes of a packet and its copies in a run: a program that recirculates for ever is not followed.
const PASSES: u32 = 12;
/// Runs whose alternatives are kept.
const RUNS: usize = 1500;
/// How often a decision is turned for what it leads a later one to.
const BLAMED: usize = 6;
/// Runs that look for a visible outcome.
const VISIBLE: usize = 12;
/// How often a point's condition may contradict the path before others are tried first.
const HOPELESS: usize = 20;
/// Runs in a row that find nothing new once everything is reached, where cases are wanted.
const LINGER: usize = 100;
/// Bytes of the first packets.
const LENGTH: usize = 128;

/// What was tried to reach a point.
#[derive(Clone, Debug, Default)]
struct Tried {
    impossible: usize,
    /// How often the solver said so: what is constant on the path is not asked.
    solved: usize,
    unknown: usize,
    /// Inputs were found, but the run went elsewhere.
    missed: usize,
    externs: HashSet<String>,
}

/// An alternative that waits.
struct Waiting {
    run: Rc<Run>,
    step: usize,
    alternative: usize,
}

/// Class, times and depth, the lowest first; then the latest sequence number.
type Ranked = (Reverse<(u8, usize, usize)>, usize);

pub(crate) struct Search<'a, E> {
    prepare: &'a dyn Fn() -> Result<Interp, E>,
    options: &'a Options,
    pipeline: Arc<Pipeline>,
    points: Arc<Points>,
    interp: Interp<Oracle>,
    shared: Shared,
    random: Random,
    total: Coverage,
    cases: HashSet<u64>,
    tests: Vec<Test>,
    /// Inputs to run next, with the point or case that they are for.
    ready: VecDeque<(Inputs, Option<usize>, Option<u64>)>,
    queue: BinaryHeap<Ranked>,
    waiting: HashMap<usize, Waiting>,
    kept_runs: usize,
    sequence: usize,
    seen: HashSet<u64>,
    times: HashMap<u64, usize>,
    tried: HashMap<usize, Tried>,
    /// Points that no packet reaches.
    never: Vec<bool>,
    /// Of the last alternative that was impossible, the steps whose conditions contradict it.
    conflict: Vec<usize>,
    relevance: Relevance,
    relevant: HashSet<usize>,
    /// Cases for which a decision that contradicts them was turned.
    bent: HashSet<u64>,
    /// What is relevant for a single point.
    relevant_for: HashMap<usize, HashSet<usize>>,
    /// How often a run was steered to a point behind an alternative.
    steered: HashMap<(usize, u64), usize>,
    runs: usize,
    faults: usize,
    by_chance: usize,
    begun: Instant,
}

impl<'a, E> Search<'a, E> {
    pub(crate) fn new(prepare: &'a dyn Fn() -> Result<Interp, E>, options: &'a Options) -> Result<Search<'a, E>, E> {
        let mut interp = prepare()?.map_store(|store| Oracle(Shared::new(store)));
        interp.max_passes = PASSES;
        let pipeline = interp.pipeline().clone();
        let points = Arc::new(Points::new(&pipeline));
        Ok(Search {
            prepare,
            options,
            relevance: Relevance::new(&points),
            never: prove::unreachable(&points),
            total: Coverage::of(points.clone()),
            pipeline,
            points,
            shared: interp.store.0.clone(),
            interp,
            random: Random::new(options.seed),
            cases: HashSet::new(),
            tests: Vec::new(),
            ready: VecDeque::new(),
            queue: BinaryHeap::new(),
            waiting: HashMap::new(),
            kept_runs: 0,
            sequence: 0,
            seen: HashSet::new(),
            times: HashMap::new(),
            tried: HashMap::new(),
            conflict: Vec::new(),
            relevant: HashSet::new(),
            bent: HashSet::new(),
            relevant_for: HashMap::new(),
            steered: HashMap::new(),
            runs: 0,
            faults: 0,
            by_chance: 0,
            begun: Instant::now(),
        })
    }

    /// Searches until everything is reached, nothing is left to try, or a limit is met.
    pub(crate) fn run(mut self, found: &mut dyn FnMut(&Test)) -> Result<Generated, E> {
        let port = self.random.next_u64() as u16 % 32;
        let packet = self.random_bytes(LENGTH);
        self.ready.push_back((Inputs { port, packet, ..Inputs::default() }, None, None));
        let mut fruitless = 0;
        let mut ended = "nothing is left to try";
        while !self.is_done() || (self.options.cases && fruitless < LINGER) {
            if self.is_late() {
                ended = "the time is over";
                break;
            }
            if self.tests.len() >= self.options.max_tests {
                ended = "there are as many tests as wanted";
                break;
            }
            if fruitless > self.options.patience {
                ended = "many runs found nothing new";
                break;
            }
            let Some((inputs, goal, case)) = self.next() else {
                if self.is_late() {
                    ended = "the time is over";
                }
                break;
            };
            let before = self.tests.len();
            self.explore(inputs, goal, case)?;
            fruitless = if self.tests.len() > before { 0 } else { fruitless + 1 };
            self.tests[before..].iter().for_each(&mut *found);
        }
        if self.is_done() {
            ended = "everything is reached that can be";
        }
        Ok(self.finish(ended))
    }

    fn is_done(&self) -> bool {
        !(0..self.never.len()).any(|point| self.is_open(point)) && self.ready.is_empty() && !self.cases_wait()
    }

    /// Whether a point is to be reached yet.
    fn is_open(&self, point: usize) -> bool {
        self.total.counts()[point] == 0 && !self.never[point]
    }

    /// Whether cases that are no points may still be found.
    fn cases_wait(&self) -> bool {
        self.queue.peek().is_some_and(|(Reverse((class, ..)), _)| *class <= 2)
    }

    fn random_bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| (self.random.next_u64() >> 32) as u8).collect()
    }

    /// The next inputs to run.
    fn next(&mut self) -> Option<(Inputs, Option<usize>, Option<u64>)> {
        loop {
            if let Some((inputs, goal, case)) = self.ready.pop_front() {
                let wanted = goal.is_none_or(|g| self.is_open(g)) && case.is_none_or(|c| !self.cases.contains(&c));
                if wanted {
                    return Some((inputs, goal, case));
                }
                continue;
            }
            if self.is_late() {
                return None;
            }
            let (Reverse((class, _, depth)), sequence) = self.queue.pop()?;
            let Some(waiting) = self.waiting.remove(&sequence) else { continue };
            let alternative = &waiting.run.steps[waiting.step].alternatives[waiting.alternative];
            let now = self.class(alternative, &waiting.run);
            if now > class {
                // It is worth less than when it was put in.
                self.wait(waiting, now, depth);
                continue;
            }
            *self.times.entry(alternative.key).or_default() += 1;
            let mut solver = Solver::new();
            if let Some(mut inputs) = self.solve(&mut solver, &waiting.run, waiting.step, alternative) {
                if let Some(goal) = self.goal_behind(&waiting, alternative) {
                    inputs = self.steer(inputs, &waiting.run, waiting.step, goal);
                }
                let (goal, case) = (alternative.goal, alternative.case);
                // What is tried for its own sake is run even if it is reached by others.
                let goal = goal.filter(|g| self.is_open(*g));
                let case = case.filter(|c| !self.cases.contains(c));
                return Some((inputs, goal, case));
            }
            if let Some(case) = alternative.case.filter(|case| !self.cases.contains(case) && self.bent.insert(*case))
                && let Some(inputs) = self.bend(&mut solver, &waiting.run)
            {
                return Some((inputs, None, Some(case)));
            }
        }
    }

    /// Inputs that turn a run at the last step that contradicts what was asked last.
    fn bend(&mut self, solver: &mut Solver, run: &Run) -> Option<Inputs> {
        let step = self.conflict.iter().copied().max()?;
        let mut others = run.steps[step].alternatives.iter().filter(|it| it.case.is_none());
        others.find_map(|other| self.solve(solver, run, step, other))
    }

    /// A point that a run is near to, at a step behind that of an alternative that may matter for it; and that step. The least tried of them.
    fn goal_behind(&mut self, waiting: &Waiting, alternative: &Alternative) -> Option<(usize, usize)> {
        let mut best: Option<(usize, (usize, usize))> = None;
        for &(goal, step) in waiting.run.near.iter().filter(|(_, step)| *step > waiting.step) {
            let times = self.steered.get(&(goal, alternative.key)).copied().unwrap_or(0);
            if self.is_open(goal)
                && times < BLAMED
                && best.is_none_or(|(least, _)| times < least)
                && self.is_relevant(goal, alternative.goal)
            {
                best = Some((times, (goal, step)));
            }
        }
        best.map(|(_, goal)| goal).filter(|(goal, _)| self.may_steer(*goal, alternative.key))
    }

    /// Whether an outcome may change what decides about a point.
    fn is_relevant(&mut self, goal: usize, outcome: Option<usize>) -> bool {
        let relevance = &self.relevance;
        let relevant = self.relevant_for.entry(goal).or_insert_with(|| relevance.of(std::iter::once(goal)));
        outcome.is_some_and(|outcome| relevant.contains(&outcome))
    }

    /// Whether a run was not steered to a point behind an alternative too often yet. Counts it.
    fn may_steer(&mut self, goal: usize, alternative: u64) -> bool {
        let times = self.steered.entry((goal, alternative)).or_default();
        *times += 1;
        *times <= BLAMED
    }

    fn is_late(&self) -> bool {
        self.begun.elapsed() > self.options.time
    }

    /// How much an alternative is worth: the lower the more.
    fn class(&self, alternative: &Alternative, run: &Run) -> u8 {
        // A run is near if it came to a decision that should have gone otherwise.
        let near = || run.near.iter().any(|(goal, _)| self.is_open(*goal));
        match alternative {
            Alternative { goal: Some(goal), .. } if self.is_open(*goal) => 0,
            Alternative { case: Some(case), .. } if !self.cases.contains(case) => 1 + u8::from(is_hidden(run)),
            Alternative { goal: Some(goal), .. } if self.relevant.contains(goal) => 4 - u8::from(near()),
            Alternative { case: Some(_), .. } => 6,
            _ => 5,
        }
    }

    /// Orders what waits anew.
    fn reorder(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let old = std::mem::take(&mut self.queue);
        let mut order: Vec<_> = old.into_iter().map(|(Reverse((.., depth)), sequence)| (sequence, depth)).collect();
        order.sort_unstable();
        for (sequence, depth) in order {
            let Some(waiting) = waiting.get(&sequence) else { continue };
            let alternative = &waiting.run.steps[waiting.step].alternatives[waiting.alternative];
            let times = self.times.get(&alternative.key).copied().unwrap_or(0);
            self.queue.push((Reverse((self.class(alternative, &waiting.run), times, depth)), sequence));
        }
        self.waiting = waiting;
    }

    fn wait(&mut self, waiting: Waiting, class: u8, depth: usize) {
        let alternative = &waiting.run.steps[waiting.step].alternatives[waiting.alternative];
        let times = self.times.get(&alternative.key).copied().unwrap_or(0);
        self.sequence += 1;
        self.queue.push((Reverse((class, times, depth)), self.sequence));
        self.waiting.insert(self.sequence, waiting);
    }

    /// A run that reaches the same and sends a packet, if one is found by letting tables hit that missed: what a packet that is dropped was
    /// like is not seen.
    fn visible(&mut self, run: Run, coverage: Coverage, wanted: &[usize], case: Option<u64>) -> (Run, Coverage) {
        if !is_hidden(&run) || (wanted.is_empty() && case.is_none()) {
            return (run, coverage);
        }
        let pipeline = self.pipeline.clone();
        let mut tries = VISIBLE;
        for applied in run.applied.iter().rev().filter(|applied| applied.choice.is_none()) {
            let table = &pipeline[applied.table];
            if table.const_entries || table.match_keys().next().is_none() {
                continue;
            }
            for action in table.actions.iter().filter(|action| !action.default_only) {
                if tries == 0 {
                    return (run, coverage);
                }
                tries -= 1;
                let mut inputs = run.inputs.clone();
                let call = self.call(action.action);
                inputs.choices.insert((applied.table.0, applied.nth), Choice::Hit(call));
                let (other, reached) = self.execute(inputs);
                let same = wanted.iter().all(|point| reached.counts()[*point] > 0 || !self.is_way(*point));
                let same = same && case.is_none_or(|case| other.cases.contains(&case));
                if !is_hidden(&other) && same && other.output.fault.is_none() {
                    return (other, reached);
                }
            }
        }
        (run, coverage)
    }

    /// Runs inputs, keeps a test if they reach something new, and looks at the alternatives.
    fn explore(&mut self, inputs: Inputs, goal: Option<usize>, case: Option<u64>) -> Result<(), E> {
        let (mut run, mut coverage) = self.execute(inputs);
        let new = |coverage: &Coverage, total: &Coverage| -> Vec<usize> {
            let pairs = coverage.counts().iter().zip(total.counts()).enumerate();
            pairs.filter(|(_, (now, before))| **now > 0 && **before == 0).map(|(at, _)| at).collect()
        };
        let wanted = new(&coverage, &self.total);
        // Cases count where a difference would be seen, or where nothing better was found.
        let is_applied = |former: &Applied| run.applied.iter().any(|now| now.table == former.table);
        let kept = |former: &Applied| matches!(former.choice, Some(Choice::Hit(_))) && !is_applied(former);
        let seen = !is_hidden(&run) || run.inputs.former.iter().any(kept);
        let mut cases = if seen { run.cases.clone() } else { BTreeSet::new() };
        cases.extend(case.filter(|case| run.cases.contains(case)));
        let new_cases = self.options.cases && cases.iter().any(|case| !self.cases.contains(case));
        let unsent = case.filter(|case| self.options.cases && run.unsent.contains(case));
        if run.output.fault.is_some() {
            self.faults += 1;
        } else if !wanted.is_empty() || new_cases || unsent.is_some() {
            if !wanted.is_empty() || new_cases {
                self.keep(&run, &wanted, new_cases)?;
            }
            // What others could see is a test, too.
            let met = case.filter(|case| run.cases.contains(case)).or(unsent);
            let visible = self.visible(run.clone(), coverage.clone(), &wanted, met);
            if run.output.sent.is_empty() && !visible.0.output.sent.is_empty() {
                (run, coverage) = visible;
                self.keep_visible(&run)?;
                self.cases.extend(&run.cases);
            }
        }
        if let Some(goal) = goal.filter(|goal| coverage.counts()[*goal] == 0) {
            self.tried.entry(goal).or_default().missed += 1;
        }
        if let Some(case) = case.filter(|case| !run.cases.contains(case) && unsent.is_none()) {
            // Once is enough for what turns out otherwise.
            self.cases.insert(case);
        }
        self.cases.extend(&cases);
        if self.runs % 64 == 1 || !wanted.is_empty() {
            let points = self.points.all();
            let decisions =
                (0..points.len()).filter(|at| self.is_open(*at) && !matches!(points[*at].kind, Kind::Statement(_)));
            let relevant = self.relevance.of(decisions.filter(|at| self.tried.contains_key(at)));
            if relevant != self.relevant {
                self.relevant = relevant;
                self.reorder();
            }
        }
        self.look_at(run);
        Ok(())
    }

    fn execute(&mut self, inputs: Inputs) -> (Run, Coverage) {
        self.runs += 1;
        self.interp.seed(0);
        let (packet, port) = (inputs.packet.clone(), inputs.port);
        let pipeline = self.pipeline.clone();
        let mut shadow = Shadow::new(&pipeline, &self.points, &self.shared, inputs);
        let output: Output = self.interp.process_observed(&packet, port, 0, &mut shadow);
        let Shadow { mut run, coverage, .. } = shadow;
        run.output = output;
        let answers = self.shared.get();
        run.sessions.clone_from(&answers.sessions);
        run.groups.clone_from(&answers.groups);
        drop(answers);
        if !is_hidden(&run) {
            let unsent = std::mem::take(&mut run.unsent);
            run.cases.extend(unsent);
        }
        (run, coverage)
    }

    /// Whether a point is on the way of a packet whatever tables find.
    fn is_way(&self, point: usize) -> bool {
        matches!(self.points.all()[point].kind, Kind::Branch(..) | Kind::Case(..) | Kind::State(_) | Kind::Entry(..))
    }

    /// Makes a test of a run that sends something, whatever it reaches.
    fn keep_visible(&mut self, run: &Run) -> Result<(), E> {
        if let Some((mut test, reached)) = finish::test(self.prepare, &self.points, run, &[], &mut self.random)? {
            let counts = reached.counts().iter().zip(self.total.counts()).enumerate();
            test.reaches = counts.filter(|(_, (now, before))| **now > 0 && **before == 0).map(|(at, _)| at).collect();
            self.total.add(&reached);
            self.tests.push(test);
        }
        Ok(())
    }

    /// Makes a test of a run. What it reaches is what its entries make a switch without answers reach.
    fn keep(&mut self, run: &Run, wanted: &[usize], cases: bool) -> Result<(), E> {
        let Some((mut test, reached)) = finish::test(self.prepare, &self.points, run, wanted, &mut self.random)? else {
            self.by_chance += 1;
            return Ok(());
        };
        let counts = reached.counts().iter().zip(self.total.counts()).enumerate();
        test.reaches = counts.filter(|(_, (now, before))| **now > 0 && **before == 0).map(|(at, _)| at).collect();
        if test.reaches.is_empty() && !cases {
            return Ok(());
        }
        self.total.add(&reached);
        self.tests.push(test);
        Ok(())
    }

    /// Solves for the alternatives of a run that reach something new at once, and puts off the others.
    fn look_at(&mut self, mut run: Run) {
        let mut solver = Solver::new();
        let mut path = 0u64;
        let mut later = Vec::new();
        let mut near = Vec::new();
        // Steps without which a decision may be otherwise, with the point that it leads to and its step.
        let mut blamed: BTreeSet<(usize, (usize, usize))> = BTreeSet::new();
        let mut repeated = Vec::new();
        for (number, step) in run.steps.iter().enumerate() {
            for (at, alternative) in step.alternatives.iter().enumerate() {
                // The same case is better tried on a run whose outcome is seen.
                let hidden = alternative.case.is_some() && is_hidden(&run);
                if !self.seen.insert(key_of((path, alternative.key, hidden))) {
                    repeated.push((number, at, path));
                    continue;
                }
                match alternative.goal.filter(|goal| self.is_open(*goal)) {
                    Some(goal) if self.tried.get(&goal).is_none_or(|tried| tried.solved < HOPELESS) => {
                        match self.solve(&mut solver, &run, number, alternative) {
                            Some(inputs) => self.ready.push_back((inputs, Some(goal), None)),
                            None => {
                                near.push((goal, number));
                                let written = step.blamed.iter().filter_map(|at| at.checked_sub(1));
                                let steps = written.chain(self.conflict.iter().copied()).filter(|at| *at < number);
                                blamed.extend(steps.map(|at| (at, (goal, number))));
                            }
                        }
                    }
                    Some(goal) => {
                        near.push((goal, number));
                        later.push((number, at));
                    }
                    None => later.push((number, at)),
                }
            }
            path = key_of((path, step.key));
        }
        for (number, goal) in blamed {
            for alternative in &run.steps[number].alternatives {
                if alternative.case.is_some() || !self.is_open(goal.0) || !self.may_steer(goal.0, alternative.key) {
                    continue;
                }
                if let Some(inputs) = self.solve(&mut solver, &run, number, alternative) {
                    let inputs = self.steer(inputs, &run, number, goal);
                    self.ready.push_back((inputs, None, None));
                }
            }
        }
        // Alternatives that were seen on another run may do more on one that is near.
        for (number, at, path) in repeated {
            let it = &run.steps[number].alternatives[at];
            let more = near.iter().enumerate().any(|(which, (goal, step))| {
                (which == 0 || *step > number && self.is_relevant(*goal, it.goal))
                    && self.seen.insert(key_of((path, it.key, goal)))
            });
            if more {
                later.push((number, at));
            }
        }
        run.near = near;
        let run = Rc::new(run);
        self.kept_runs += 1;
        for (step, alternative) in later {
            let it = &run.steps[step].alternatives[alternative];
            let class = match self.class(it, &run) {
                // Others may still lead there.
                0 => 4,
                1 | 2 if !self.options.cases && it.change.is_none() => continue,
                class => class,
            };
            if class <= 4 || self.kept_runs < RUNS {
                self.wait(Waiting { run: run.clone(), step, alternative }, class, step);
            }
        }
    }

    fn finish(self, ended: &'static str) -> Generated {
        let counts = self.total.counts();
        let mut unreached = Vec::new();
        for (at, point) in self.points.all().iter().enumerate().filter(|(at, _)| counts[*at] == 0) {
            let proved = self.never[at];
            let why = match self.tried.get(&at) {
                _ if proved => "proved: no packet reaches it".into(),
                None if matches!(point.kind, Kind::Statement(_) | Kind::State(_) | Kind::Action(_)) => {
                    "nothing leads there".into()
                }
                None => "what decides about it is not reached".into(),
                Some(tried) => why(tried),
            };
            unreached.push(Unreached { point: at, why, proved });
        }
        Generated {
            tests: self.tests,
            coverage: self.total,
            unreached,
            runs: self.runs,
            faults: self.faults,
            by_chance: self.by_chance,
            ended,
        }
    }
}

/// Whether nothing is seen of what a run did.
fn is_hidden(run: &Run) -> bool {
    run.output.sent.is_empty()
}

/// Why a point was not reached.
fn why(tried: &Tried) -> String {
    let times = |n: usize| if n == 1 { "once".to_string() } else { format!("{n} times") };
    let mut why = Vec::new();
    if tried.impossible > 0 {
        why.push(format!("its condition contradicts the path to it ({})", times(tried.impossible)));
    }
    if tried.unknown > 0 {
        why.push(format!("the solver gave up ({})", times(tried.unknown)));
    }
    if tried.missed > 0 {
        why.push(format!("packets that should reach it go elsewhere ({})", times(tried.missed)));
    }
    if !tried.externs.is_empty() {
        let mut externs: Vec<&str> = tried.externs.iter().map(String::as_str).collect();
        externs.sort_unstable();
        why.push(format!("results of {} are not solved for", externs.join(", ")));
    }
    why.join("; ")
}
