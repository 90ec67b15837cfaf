//! The search for runs that reach what no test reaches yet.
//!
//! Each run leaves alternatives: decisions that could have gone otherwise. Those that reach something new are tried first, then those that
//! may change what decides about it, then the others, the least tried first.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use hopwright_coverage::{Coverage, Kind, Points};
use hopwright_interp::{ControlError, Interp, Output};
use hopwright_ir::hash::Random;
use hopwright_ir::{ActionCall, ActionId, Pipeline, bits};
use num_bigint::BigUint;

use crate::finish;
use crate::inputs::{Choice, Inputs, Oracle, Shared};
use crate::path::{Alternative, Applied, Change, Finds, Run};
use crate::relevance::Relevance;
use crate::shadow::{Shadow, key_of};
use crate::solver::{Answer, Solver};
use crate::term::{self, Term};
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

pub(crate) struct Search<'a> {
    prepare: &'a dyn Fn() -> Result<Interp, ControlError>,
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
    relevance: Relevance,
    relevant: HashSet<usize>,
    runs: usize,
    faults: usize,
    by_chance: usize,
    begun: Instant,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        prepare: &'a dyn Fn() -> Result<Interp, ControlError>,
        options: &'a Options,
    ) -> Result<Search<'a>, ControlError> {
        let first = prepare()?;
        let pipeline = first.pipeline().clone();
        let points = Arc::new(Points::new(&pipeline));
        let mut shared = None;
        let mut interp = first.map_store(|store| {
            let new = Shared::new(store);
            shared = Some(new.clone());
            Oracle(new)
        });
        interp.max_passes = PASSES;
        let Some(shared) = shared else { return Err(ControlError::NotFound) };
        Ok(Search {
            prepare,
            options,
            relevance: Relevance::new(&points),
            total: Coverage::of(points.clone()),
            pipeline,
            points,
            interp,
            shared,
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
            relevant: HashSet::new(),
            runs: 0,
            faults: 0,
            by_chance: 0,
            begun: Instant::now(),
        })
    }

    /// Searches until everything is reached, nothing is left to try, or a limit is met.
    pub(crate) fn run(mut self, found: &mut dyn FnMut(&Test) -> Result<(), String>) -> Result<Generated, String> {
        let port = self.random.next_u64() as u16 % 32;
        let packet = self.random_bytes(LENGTH);
        self.ready.push_back((Inputs { port, packet, ..Inputs::default() }, None, None));
        let mut fruitless = 0;
        let mut ended = "nothing is left to try";
        while !self.is_done() {
            if self.begun.elapsed() > self.options.time {
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
                if self.begun.elapsed() > self.options.time {
                    ended = "the time is over";
                }
                break;
            };
            let before = self.tests.len();
            self.explore(inputs, goal, case)?;
            fruitless = if self.tests.len() > before { 0 } else { fruitless + 1 };
            for test in &self.tests[before..] {
                found(test)?;
            }
        }
        if self.is_done() {
            ended = "everything is reached";
        }
        Ok(self.finish(ended))
    }

    fn is_done(&self) -> bool {
        self.total.counts().iter().all(|count| *count > 0) && self.ready.is_empty() && !self.cases_wait()
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
                let wanted =
                    goal.is_none_or(|g| self.total.counts()[g] == 0) && case.is_none_or(|c| !self.cases.contains(&c));
                if wanted {
                    return Some((inputs, goal, case));
                }
                continue;
            }
            if self.begun.elapsed() > self.options.time {
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
            if let Some(inputs) = self.solve(&mut solver, &waiting.run, waiting.step, alternative) {
                let (goal, case) = (alternative.goal, alternative.case);
                // What is tried for its own sake is run even if it is reached by others.
                let goal = goal.filter(|g| self.total.counts()[*g] == 0);
                let case = case.filter(|c| !self.cases.contains(c));
                return Some((inputs, goal, case));
            }
        }
    }

    /// How much an alternative is worth: the lower the more.
    fn class(&self, alternative: &Alternative, run: &Run) -> u8 {
        // A run is near if it came to a decision that should have gone otherwise.
        let near = || run.near.iter().any(|goal| self.total.counts()[*goal] == 0);
        match alternative {
            Alternative { goal: Some(goal), .. } if self.total.counts()[*goal] == 0 => 0,
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
    fn explore(&mut self, inputs: Inputs, goal: Option<usize>, case: Option<u64>) -> Result<(), String> {
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
        if run.output.fault.is_some() {
            self.faults += 1;
        } else if !wanted.is_empty() || new_cases {
            self.keep(&run, &wanted, new_cases)?;
            // What others could see is a test, too.
            let visible =
                self.visible(run.clone(), coverage.clone(), &wanted, case.filter(|case| run.cases.contains(case)));
            if run.output.sent.is_empty() && !visible.0.output.sent.is_empty() {
                (run, coverage) = visible;
                self.keep_visible(&run)?;
            }
        }
        if let Some(goal) = goal.filter(|goal| coverage.counts()[*goal] == 0) {
            self.tried.entry(goal).or_default().missed += 1;
        }
        if let Some(case) = case.filter(|case| !run.cases.contains(case)) {
            // Once is enough for what turns out otherwise.
            self.cases.insert(case);
        }
        self.cases.extend(&cases);
        if self.runs % 64 == 1 || !wanted.is_empty() {
            let counts = self.total.counts();
            let points = self.points.all();
            let decisions =
                (0..points.len()).filter(|at| counts[*at] == 0 && !matches!(points[*at].kind, Kind::Statement(_)));
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
        (run, coverage)
    }

    /// Whether a point is on the way of a packet whatever tables find.
    fn is_way(&self, point: usize) -> bool {
        matches!(self.points.all()[point].kind, Kind::Branch(..) | Kind::Case(..) | Kind::State(_) | Kind::Entry(..))
    }

    /// Makes a test of a run that sends something, whatever it reaches.
    fn keep_visible(&mut self, run: &Run) -> Result<(), String> {
        if let Some((mut test, reached)) = finish::test(self.prepare, &self.points, run, &[], &mut self.random)? {
            let counts = reached.counts().iter().zip(self.total.counts()).enumerate();
            test.reaches = counts.filter(|(_, (now, before))| **now > 0 && **before == 0).map(|(at, _)| at).collect();
            self.total.add(&reached);
            self.tests.push(test);
        }
        Ok(())
    }

    /// Makes a test of a run. What it reaches is what its entries make a switch without answers reach.
    fn keep(&mut self, run: &Run, wanted: &[usize], cases: bool) -> Result<(), String> {
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
        let mut blamed: BTreeSet<usize> = BTreeSet::new();
        let mut repeated = Vec::new();
        for (number, step) in run.steps.iter().enumerate() {
            for (at, alternative) in step.alternatives.iter().enumerate() {
                // The same case is better tried on a run whose outcome is seen.
                let hidden = alternative.case.is_some() && is_hidden(&run);
                if !self.seen.insert(key_of((path, alternative.key, hidden))) {
                    repeated.push((number, at, path));
                    continue;
                }
                match alternative.goal.filter(|goal| self.total.counts()[*goal] == 0) {
                    Some(goal) if self.tried.get(&goal).is_none_or(|tried| tried.solved < HOPELESS) => {
                        match self.solve(&mut solver, &run, number, alternative) {
                            Some(inputs) => self.ready.push_back((inputs, Some(goal), None)),
                            None => {
                                near.push(goal);
                                blamed.extend(step.blamed.iter().filter_map(|at| at.checked_sub(1)));
                            }
                        }
                    }
                    _ => later.push((number, at)),
                }
            }
            path = key_of((path, step.key));
        }
        // What the decision read was written behind these: without them it may be otherwise.
        for number in blamed {
            for alternative in &run.steps[number].alternatives {
                let key = key_of((near.first(), number, alternative.key, run.steps[number].key));
                if alternative.case.is_some() || *self.times.entry(key).or_default() >= BLAMED {
                    continue;
                }
                *self.times.entry(key).or_default() += 1;
                if let Some(inputs) = self.solve(&mut solver, &run, number, alternative) {
                    self.ready.push_back((inputs, None, None));
                }
            }
        }
        // Alternatives that were seen on another run may do more on one that is near.
        if let Some(goal) = near.first() {
            for (number, at, path) in repeated {
                let key = run.steps[number].alternatives[at].key;
                if self.seen.insert(key_of((path, key, goal))) {
                    later.push((number, at));
                }
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

    /// Inputs with which a run goes on as an alternative says. `None` if there are none.
    fn solve(&mut self, solver: &mut Solver, run: &Run, step: usize, alternative: &Alternative) -> Option<Inputs> {
        let mut inputs = run.inputs.clone();
        inputs.former.clone_from(&run.applied);
        let open = alternative.conditions.iter().any(|c| !term::is_true(c));
        if open {
            let values = self.values(solver, run, step, alternative)?;
            values.into_iter().for_each(|(variable, value)| inputs.set(variable, value));
        }
        match &alternative.change {
            None => {}
            Some(Change::Member(set, there)) => {
                if *there {
                    inputs.members.insert(set.0);
                } else {
                    inputs.members.remove(&set.0);
                }
            }
            Some(Change::Length(length)) => {
                let more = self.random_bytes(length.saturating_sub(inputs.packet.len()));
                inputs.packet.truncate(*length);
                inputs.packet.extend(more);
            }
            Some(Change::Table(table, nth, finds)) => {
                let key = (table.0, *nth);
                match finds {
                    Finds::Nothing => drop(inputs.choices.remove(&key)),
                    Finds::Entry(action) => drop(inputs.choices.insert(key, Choice::Hit(self.call(*action)))),
                    Finds::Default(action) => drop(inputs.choices.insert(key, Choice::Default(self.call(*action)))),
                }
            }
        }
        Some(inputs)
    }

    fn values(
        &mut self,
        solver: &mut Solver,
        run: &Run,
        step: usize,
        alternative: &Alternative,
    ) -> Option<Vec<(term::Variable, BigUint)>> {
        if alternative.conditions.iter().any(|c| term::is_constant(c) && !term::is_true(c)) {
            if let Some(goal) = alternative.goal {
                self.tried.entry(goal).or_default().impossible += 1;
            }
            return None;
        }
        let before = &run.steps[..step];
        let hard: Vec<Term> = before.iter().filter(|s| !s.soft).flat_map(|s| s.conditions.iter().cloned()).collect();
        let soft: Vec<Term> = before.iter().filter(|s| s.soft).flat_map(|s| s.conditions.iter().cloned()).collect();
        let wanted: Vec<Term> = alternative.conditions.iter().cloned().chain(hard).collect();
        let all: Vec<Term> = wanted.iter().cloned().chain(soft.iter().cloned()).collect();
        // The entries that the run hit should match the new packet, too: if it comes to their tables where it should not, that is seen.
        let hit = run.applied.iter().filter(|applied| matches!(applied.choice, Some(Choice::Hit(_))));
        let keys = hit.flat_map(|applied| &applied.terms).filter(|t| !term::is_constant(t));
        let keys: Vec<Term> = keys.map(|t| term::equal(t, &term::constant(t.value.clone(), t.width))).collect();
        let mut answer = Answer::Impossible;
        if !keys.is_empty() {
            answer = solver.solve(&all.iter().cloned().chain(keys).collect::<Vec<_>>());
        }
        if matches!(answer, Answer::Impossible) {
            answer = solver.solve(&all);
        }
        // Without what keeps the results of externs as they are, the run may still go where it should.
        if matches!(answer, Answer::Impossible) && !soft.is_empty() {
            answer = solver.solve(&wanted);
        }
        match answer {
            Answer::Values(values) => Some(values.into_iter().collect()),
            Answer::Impossible => {
                if let Some(goal) = alternative.goal {
                    let tried = self.tried.entry(goal).or_default();
                    tried.impossible += 1;
                    tried.solved += 1;
                    tried.externs.extend(run.externs.iter().cloned());
                }
                None
            }
            Answer::Unknown => {
                if let Some(goal) = alternative.goal {
                    self.tried.entry(goal).or_default().unknown += 1;
                }
                None
            }
        }
    }

    /// A call of an action, with data: small numbers as often as others.
    fn call(&mut self, action: ActionId) -> ActionCall {
        let widths: Vec<u32> = self.pipeline[action].params.iter().map(|p| p.ty.width()).collect();
        let mut value = |width: u32| {
            let number = self.random.next_u64();
            // Ports have nine bits.
            if width == 9 || number & 1 == 0 {
                return bits::truncate(BigUint::from(1 + (number >> 8) % 30), width);
            }
            let wide = (0..width.div_ceil(64))
                .fold(BigUint::ZERO, |wide, _| (wide << 64u32) | BigUint::from(self.random.next_u64()));
            bits::truncate(wide, width)
        };
        let args = widths.into_iter().map(&mut value).collect();
        ActionCall { action, args }
    }

    fn finish(self, ended: &'static str) -> Generated {
        let counts = self.total.counts();
        let mut unreached = Vec::new();
        for (at, point) in self.points.all().iter().enumerate().filter(|(at, _)| counts[*at] == 0) {
            let why = match self.tried.get(&at) {
                None if matches!(point.kind, Kind::Statement(_) | Kind::State(_) | Kind::Action(_)) => {
                    "nothing leads there".into()
                }
                None => "what decides about it is not reached".into(),
                Some(tried) => why(tried),
            };
            unreached.push(Unreached { point: at, why });
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
