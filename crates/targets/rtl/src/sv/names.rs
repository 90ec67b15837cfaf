//! Names of signals, for waveforms: `hdr_ipv4_ttl_s12` is what the field `hdr.ipv4.ttl` holds in stage 12. The pipeline is written with
//! `v<number>_<stage>` for all values; those with a name get it at the end.

use std::collections::{HashMap, HashSet};

use hopwright_ir::Pipeline;

use super::identifier;
use crate::hir::{Design, Node, Op};

/// The most characters of a name in front of its number and its stage.
const MOST_CHARACTERS: usize = 48;

/// The names of values. Values of the same field have numbers from the second one on.
pub(super) fn names(p: &Pipeline, design: &Design) -> Vec<Option<String>> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut name = |node: &Node| {
        let origin = origin(p, node)?;
        let plain = identifier(origin);
        let words: Vec<&str> = plain.split('_').filter(|word| !word.is_empty()).collect();
        let whole = words.join("_");
        // The end says more than the beginning.
        let base = identifier(&whole[whole.len().saturating_sub(MOST_CHARACTERS)..]);
        // What another base has taken already is passed over.
        let next = numbers.entry(base.clone()).or_insert(1);
        loop {
            let name = if *next == 1 { base.clone() } else { format!("{base}_{next}") };
            *next += 1;
            if taken.insert(name.clone()) {
                break Some(name);
            }
        }
    };
    design.nodes.iter().map(&mut name).collect()
}

/// What of the program a value is: of a lookup the table, of a read the register, otherwise what the slot holds.
fn origin<'p>(p: &'p Pipeline, node: &Node) -> Option<&'p str> {
    Some(match (&node.op, node.slot) {
        (Op::Lookup { table, .. }, _) => &p[*table].name,
        (Op::RegisterRead { register, .. }, _) => &p[*register].name,
        (Op::Const(_) | Op::Input(_), _) => return None,
        (_, slot) => &p[slot?].name,
    })
}

/// Gives signals of values with names these names. Comments stay as they are.
pub(super) fn rename(text: &str, names: &[Option<String>]) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    for line in text.split_inclusive('\n') {
        let code = line.find("//").unwrap_or(line.len());
        let mut rest = &line[..code];
        while let Some(begin) = rest.find(is_of_identifier) {
            out.push_str(&rest[..begin]);
            rest = &rest[begin..];
            let (word, behind) = rest.split_at(rest.find(|c| !is_of_identifier(c)).unwrap_or(rest.len()));
            match named(word, names) {
                Some((name, stage)) => out.extend([name, "_s", stage]),
                None => out.push_str(word),
            }
            rest = behind;
        }
        out.push_str(rest);
        out.push_str(&line[code..]);
    }
    out
}

fn is_of_identifier(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The name and the stage of a signal `v<number>_<stage>`.
fn named<'a>(word: &'a str, names: &'a [Option<String>]) -> Option<(&'a str, &'a str)> {
    let (number, stage) = word.strip_prefix('v')?.split_once('_')?;
    let name = names.get(number.parse::<usize>().ok()?)?.as_deref()?;
    Some((name, stage))
}

#[cfg(test)]
mod tests {
    use super::rename;

    #[test]
    fn only_signals_of_values_with_names_are_renamed() {
        let names = [None, Some("hdr_ipv4_ttl".to_string())];
        let text = "    assign v1_12 = v0_3 + v1_2_0[7:0] & 8'hv1_x;  // v1_2\n    valid_1 e1 hdrv1_2 v1 v12_1\n";
        let renamed = "    assign hdr_ipv4_ttl_s12 = v0_3 + hdr_ipv4_ttl_s2_0[7:0] & 8'hv1_x;  // v1_2\n    valid_1 e1 hdrv1_2 v1 v12_1\n";
        assert_eq!(rename(text, &names), renamed);
    }
}
