//! Names of the program of the switch that the command line selects. Nothing is proposed if it does not answer.

use std::env;
use std::sync::mpsc;
use std::time::Duration;

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use clap_complete::CompletionCandidate;
use hopwright_p4runtime::client::{Names, alias};
use hopwright_p4runtime::proto::config::{P4Info, Preamble, Table};

use crate::cli::Cli;
use crate::cli::control::SwitchArgs;
use crate::commands::control::connect;

/// How long a person waits for proposals.
const PATIENCE: Duration = Duration::from_secs(2);

/// Its tables.
pub(crate) fn tables() -> Vec<CompletionCandidate> {
    named(|info| info.tables.iter().map(|t| &t.preamble).collect())
}

/// Its counters.
pub(crate) fn counters() -> Vec<CompletionCandidate> {
    named(|info| {
        let direct = info.direct_counters.iter().map(|c| &c.preamble);
        info.counters.iter().map(|c| &c.preamble).chain(direct).collect()
    })
}

/// Its registers.
pub(crate) fn registers() -> Vec<CompletionCandidate> {
    named(|info| info.registers.iter().map(|r| &r.preamble).collect())
}

/// Its meters.
pub(crate) fn meters() -> Vec<CompletionCandidate> {
    named(|info| {
        let direct = info.direct_meters.iter().map(|m| &m.preamble);
        info.meters.iter().map(|m| &m.preamble).chain(direct).collect()
    })
}

/// Next words of an entry: keys and actions of its table, then parameters of its action.
pub(crate) fn entry() -> Vec<CompletionCandidate> {
    of_table(|names, table, typed| match action(names, table, typed) {
        Some(params) => params,
        None => keys(names, table, typed).chain(actions(names, table)).collect(),
    })
}

/// Next words of an entry's keys.
pub(crate) fn entry_keys() -> Vec<CompletionCandidate> {
    of_table(|names, table, typed| keys(names, table, typed).collect())
}

/// Next words of an action: its name, then its parameters.
pub(crate) fn default_action() -> Vec<CompletionCandidate> {
    of_table(|names, table, typed| action(names, table, typed).unwrap_or_else(|| actions(names, table).collect()))
}

fn named(all: impl Fn(&P4Info) -> Vec<&Option<Preamble>>) -> Vec<CompletionCandidate> {
    let Some((_, names)) = selected() else { return Vec::new() };
    all(names.info()).into_iter().map(|preamble| CompletionCandidate::new(alias(preamble))).collect()
}

fn of_table(next: impl Fn(&Names, &Table, &[String]) -> Vec<String>) -> Vec<CompletionCandidate> {
    let words = || {
        let (typed, names) = selected()?;
        let table = names.table(typed.get_one::<String>("name")?).ok()?;
        let several = |id| typed.try_get_many::<String>(id).ok().flatten().into_iter().flatten().cloned();
        let words: Vec<String> = several("entry").chain(several("action")).collect();
        // The value of this word is asked for. bash divides words at `=`, and leaves it out if the value is still empty.
        let open = |word: &String| word.ends_with('=') || (!word.contains('=') && names.action(table, word).is_err());
        if words.last().is_some_and(open) {
            return None;
        }
        Some(next(&names, table, &words))
    };
    words().unwrap_or_default().into_iter().map(CompletionCandidate::new).collect()
}

/// The keys that are not typed yet, by their shortest names, and the priority.
fn keys(names: &Names, table: &Table, typed: &[String]) -> impl Iterator<Item = String> {
    let typed: Vec<&str> = typed.iter().filter_map(|word| Some(word.split_once('=')?.0)).collect();
    let known: Vec<u32> = typed.iter().filter_map(|name| Some(names.field(table, name).ok()?.id)).collect();
    let fields = table.match_fields.iter().filter(|field| !known.contains(&field.id));
    let words: Vec<String> = fields
        .map(|field| {
            let last = field.name.rsplit('.').next().unwrap_or_default();
            let short = names.field(table, last).is_ok_and(|found| found.id == field.id);
            format!("{}=", if short { last } else { &field.name })
        })
        .collect();
    let priority = names.has_priority(table) && !typed.contains(&"priority");
    words.into_iter().chain(priority.then(|| "priority=".into()))
}

fn actions(names: &Names, table: &Table) -> impl Iterator<Item = String> {
    table.action_refs.iter().filter_map(|r| Some(alias(&names.action_with_id(r.id)?.preamble).to_string()))
}

/// The parameters that are not typed yet of the action that is.
fn action(names: &Names, table: &Table, typed: &[String]) -> Option<Vec<String>> {
    let at = typed.iter().position(|word| names.action(table, word).is_ok())?;
    let action = names.action(table, &typed[at]).ok()?;
    let missing = |name: &str| !typed[at..].iter().any(|word| word.split('=').next() == Some(name));
    Some(action.params.iter().filter(|p| missing(&p.name)).map(|p| format!("{}=", p.name)).collect())
}

/// What has been typed, and the names of the switch that it selects.
fn selected() -> Option<(ArgMatches, Names)> {
    let typed = Cli::command().ignore_errors(true).try_get_matches_from(words()).ok()?;
    let mut typed = &typed;
    while let Some((_, subcommand)) = typed.subcommand() {
        typed = subcommand;
    }
    let switch = SwitchArgs::from_arg_matches(typed).ok()?;
    let (to, from) = mpsc::channel();
    // Sending fails only when nobody waits any more.
    std::thread::spawn(move || drop(to.send(connect(&switch).map(|client| client.info().clone()))));
    let info = from.recv_timeout(PATIENCE).ok()?.ok()?;
    Some((typed.clone(), Names::new(info)))
}

/// The words before the one that is completed. bash divides them at `=` and `:` too.
fn words() -> Vec<String> {
    let words = env::args_os().skip_while(|word| word != "--").skip(1);
    let mut words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let index = env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|index| index.parse().ok());
    words.truncate(index.unwrap_or(words.len().saturating_sub(1)));
    joined(words)
}

fn joined(words: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut open = false;
    for word in words {
        let sign = word.chars().all(|c| matches!(c, '=' | ':')) && !word.is_empty();
        match all.last_mut().filter(|_| sign || open) {
            Some(last) => last.push_str(&word),
            None => all.push(word),
        }
        open = sign;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn words_that_bash_divides_are_put_together() {
        let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
        let divided = "hopwright table --server 127.0.0.1 : 9559 add t dst = 10.0.0.0/8 src =";
        let whole = "hopwright table --server 127.0.0.1:9559 add t dst=10.0.0.0/8 src=";
        assert_eq!(joined(words(divided)), words(whole));
        assert_eq!(joined(words(whole)), words(whole));
    }
}
