//! Several programs of a device, which P4Info has as one: the names of a program's objects and pipelines begin with its own and a dot.

use std::borrow::Cow;

use hopwright_p4runtime::proto::config::{self as p4, P4Info};

use super::program::Pipeline;

/// What P4Info has of a program, with names as in its own.
pub(super) struct Part<'i> {
    pub name: String,
    pub info: Cow<'i, P4Info>,
    pub pipelines: Vec<Pipeline<'i>>,
    /// What P4Info has in front of its names.
    pub prefix: String,
}

/// The programs of a device; one of this name unless the pipelines say otherwise.
pub(super) fn parts<'i>(name: &str, info: &'i P4Info, pipelines: Vec<Pipeline<'i>>) -> Vec<Part<'i>> {
    let mut parts: Vec<Part<'i>> = Vec::new();
    for mut pipeline in pipelines {
        let (program, own) = match pipeline.name.rsplit_once('.') {
            Some((program, own)) => (format!("{program}."), own),
            None => (String::new(), pipeline.name),
        };
        pipeline.name = own;
        for block in &mut pipeline.blocks {
            *block = (*block).strip_prefix(&program).unwrap_or(*block);
        }
        match parts.iter_mut().find(|part| part.prefix == program) {
            Some(part) => part.pipelines.push(pipeline),
            None => parts.push(Part {
                name: program.strip_suffix('.').unwrap_or(name).to_string(),
                info: Cow::Borrowed(info),
                pipelines: vec![pipeline],
                prefix: program,
            }),
        }
    }
    if parts.is_empty() {
        let (name, prefix) = (name.to_string(), String::new());
        parts.push(Part { name, info: Cow::Borrowed(info), pipelines: Vec::new(), prefix });
    }
    let prefixes: Vec<String> = parts.iter().map(|part| part.prefix.clone()).collect();
    for part in parts.iter_mut().filter(|part| !part.prefix.is_empty()) {
        own(part.info.to_mut(), &part.prefix, &prefixes);
    }
    parts
}

/// Leaves out what other programs have, and the program's name in front of names.
fn own(info: &mut P4Info, prefix: &str, prefixes: &[String]) {
    let in_list = format!("({prefix}");
    // What no program has is the device's.
    let keep = |preamble: &mut Option<p4::Preamble>| {
        let Some(preamble) = preamble else { return false };
        let of = prefixes.iter().find(|known| preamble.name.starts_with(known.as_str()));
        if of.is_some_and(|of| of == prefix) {
            preamble.name.drain(..prefix.len());
            preamble.annotations.iter_mut().for_each(|text| *text = text.replace(&in_list, "("));
        }
        of.is_none_or(|of| of == prefix)
    };
    info.tables.retain_mut(|one| keep(&mut one.preamble));
    info.actions.retain_mut(|one| keep(&mut one.preamble));
    info.action_profiles.retain_mut(|one| keep(&mut one.preamble));
    info.counters.retain_mut(|one| keep(&mut one.preamble));
    info.direct_counters.retain_mut(|one| keep(&mut one.preamble));
    info.meters.retain_mut(|one| keep(&mut one.preamble));
    info.direct_meters.retain_mut(|one| keep(&mut one.preamble));
    info.registers.retain_mut(|one| keep(&mut one.preamble));
    info.value_sets.retain_mut(|one| keep(&mut one.preamble));
    info.digests.retain_mut(|one| keep(&mut one.preamble));
    for known in &mut info.externs {
        known.instances.retain_mut(|one| keep(&mut one.preamble));
    }
}
