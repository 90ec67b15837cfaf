//! The report as text.

use std::fmt::Write;

use super::{Cost, GATES, Report, SlowStage, Step, WideValue};

/// Lines of the program that are shown.
const LINES: usize = 20;
/// Steps of gates in a row from which on only the first and the last are named.
const LONG_RUN: usize = 3;

impl Report {
    /// What is said of the chip: how much of it the design takes.
    pub(super) fn fit(&self) -> String {
        let percent = |own: u64, all: u64| (100 * own).div_ceil(all.max(1));
        let (own, all) = (&self.total, &self.capacity);
        let fits = own.luts <= all.luts && own.registers <= all.registers && own.blocks <= all.blocks;
        format!(
            "The chip, {}, {}: the design takes {} % of its LUTs, {} % of its flip-flops and {} % of its block RAMs.",
            self.chip,
            if fits { "has room for it" } else { "is too small" },
            percent(own.luts, all.luts),
            percent(own.registers, all.registers),
            percent(own.blocks, all.blocks)
        )
    }

    /// What is said of the clock.
    pub(super) fn clock(&self) -> String {
        let levels = |delay: u32| format!("{}.{:02}", delay / 100, delay % 100);
        let over = match self.stages_over {
            0 => "None takes more: routing decides about the clock that is reached.".to_string(),
            n => format!(
                "{n} of {} take more, for what they do is not split over stages: they and routing decide about the clock that is reached.",
                self.stages
            ),
        };
        format!(
            "At {} MHz a stage has time for {} LUT levels with their routing. {over}",
            self.clock_mhz,
            levels(self.stage_delay)
        )
    }

    /// What is said of the values with most loads.
    pub(super) fn fanout(&self) -> &'static str {
        "Values with most loads, the inputs of gates and registers that take them in a cycle. The more, the farther apart, and the slower:"
    }

    /// What is said of the line that takes most.
    pub(super) fn most(&self) -> Option<String> {
        let line = self.lines.first()?;
        let engines = if line.engines.is_empty() { String::new() } else { format!(" ({})", line.what()) };
        let share = 100.0 * line.cost.share_of(&self.capacity);
        Some(format!(
            "The line that takes most is {}:{}{engines}: {share:.1} % of the chip.",
            self.short(&line.file),
            line.line
        ))
    }

    /// What is said of the latency.
    pub(super) fn latency(&self) -> String {
        let mut kinds: Vec<_> = self.kinds.iter().filter(|kind| kind.stages > 0).collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.stages));
        let parts: Vec<String> = kinds.iter().map(|kind| format!("{} take {}", kind.name, kind.stages)).collect();
        format!("Of the {} stages of the longest way {}.", self.stages, parts.join(", "))
    }

    /// The folder that all files of the program are in, with a slash at the end.
    pub(super) fn folder(&self) -> &str {
        let mut files = self.lines.iter().map(|line| line.file.as_str());
        let Some(first) = files.next() else { return "" };
        let same = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
        let common = files.fold(first.len(), |most, file| most.min(same(first, file)));
        first.get(..common).and_then(|text| text.rfind('/')).map_or("", |slash| &first[..=slash])
    }

    /// A place without the folder.
    pub(super) fn short<'a>(&'a self, place: &'a str) -> &'a str {
        place.strip_prefix(self.folder()).unwrap_or(place)
    }

    /// The longest way, with gates in a row as one step.
    pub(super) fn way(&self) -> Vec<Step> {
        let mut way: Vec<Step> = Vec::new();
        for run in self.longest.chunk_by(|a, b| a.kind == GATES && b.kind == GATES) {
            let (first, last) = (&run[0], &run[run.len() - 1]);
            if run.len() < LONG_RUN {
                way.extend(run.iter().cloned());
                continue;
            }
            let place = format!("{} to {}", self.short(&first.place), self.short(&last.place));
            way.push(Step {
                place,
                text: first.text.clone(),
                what: format!("gates of {} lines", run.len()),
                kind: GATES,
                first: first.first,
                last: last.last,
            });
        }
        way
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let ns = |stages: u32| f64::from(stages) * 1000.0 / f64::from(self.clock_mhz);
        let _ = writeln!(
            out,
            "{} for {}: {} stages, {} ns in the pipeline at {} MHz; {} Gbit/s on the bus, {} million packets a second, one every {} cycles\n",
            self.program, self.target, self.stages, self.latency_ns, self.clock_mhz, self.bus_gbps, self.mpps, self.gap
        );
        let _ = writeln!(out, "{}", self.fit());
        if let Some(most) = self.most() {
            let _ = writeln!(out, "{most}");
        }
        out.push('\n');
        let share = |cost: &Cost| format!("{:>7.1} %", 100.0 * cost.share_of(&self.capacity));
        let row = |cost: &Cost| {
            let kbit = cost.memory_bits.div_ceil(1000);
            format!("{} {:>8} {:>8} {:>7} {:>10}", share(cost), cost.luts, cost.registers, cost.blocks, kbit)
        };
        let _ = writeln!(out, "  of chip      LUT       FF  blocks   RAM kbit   estimated");
        let _ = writeln!(out, "{}   in all", row(&self.total));
        for kind in &self.kinds {
            let count = if kind.count > 0 { format!(": {}", kind.count) } else { String::new() };
            let _ = writeln!(out, "{}   {}{count}", row(&kind.cost), kind.name);
        }
        let folder = if self.folder().is_empty() { String::new() } else { format!(", in {}", self.folder()) };
        let _ = writeln!(out, "\nLines that take most{folder} (the share of the chip is that of what is scarcest):");
        for line in self.lines.iter().take(LINES) {
            let what = if line.engines.is_empty() { String::new() } else { format!("  [{}]", line.what()) };
            let _ =
                writeln!(out, "{}   {}:{}  {}{what}", row(&line.cost), self.short(&line.file), line.line, line.text);
        }
        let _ = writeln!(out, "\nEngines, and the stages in which they work:");
        for engine in &self.engines {
            let stages = format!("{}-{}", engine.first, engine.ready);
            let _ =
                writeln!(out, "{}   {stages:>9}  {} ({})", row(&engine.cost), engine.name, self.short(&engine.place));
        }
        let _ = writeln!(out, "\nThe longest way, which makes the latency of {} stages:", self.stages);
        let mut kinds: Vec<_> = self.kinds.iter().filter(|kind| kind.stages > 0).collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.stages));
        for kind in kinds {
            let _ = writeln!(out, "{:>4} stages {:>5.0} ns   {}", kind.stages, ns(kind.stages), kind.name);
        }
        let _ = writeln!(out, "One step after the other:");
        for Step { place, text, what, first, last, .. } in self.way() {
            let stages = last - first;
            let place = self.short(&place);
            let _ = writeln!(
                out,
                "{stages:>4} stages {:>5.0} ns  {first:>4}-{last:<4} {what}: {place}  {text}",
                ns(stages)
            );
        }
        let _ = writeln!(out, "\n{} The slowest stages:", self.clock());
        for slow in &self.slowest {
            let _ = writeln!(out, "  {}", self.slow(slow));
        }
        let _ = writeln!(out, "\n{}", self.fanout());
        for WideValue { loads, stage, what, place, text } in &self.widest {
            let _ = writeln!(out, "{loads:>6} loads  stage {stage:<4} {what}: {}  {text}", self.short(place));
        }
        out
    }

    /// A kind of slow stages in words.
    pub(super) fn slow(&self, slow: &SlowStage) -> String {
        let SlowStage { stage, count, delay, chain } = slow;
        let chain: Vec<String> = chain.iter().map(|part| part.replace(self.folder(), "")).collect();
        let stages = if *count > 1 { format!("{count} stages from {stage}") } else { format!("stage {stage}") };
        format!("{}.{:02} levels, {stages}: {}", delay / 100, delay % 100, chain.join(" → "))
    }
}

impl super::Line {
    /// The engines of the line, each once with its number.
    pub(super) fn what(&self) -> String {
        let mut names: Vec<(&str, usize)> = Vec::new();
        for name in &self.engines {
            match names.iter_mut().find(|(other, _)| other == name) {
                Some((_, count)) => *count += 1,
                None => names.push((name, 1)),
            }
        }
        let shown =
            |(name, count): &(&str, usize)| if *count > 1 { format!("{count} × {name}") } else { name.to_string() };
        names.iter().map(shown).collect::<Vec<_>>().join(", ")
    }
}
