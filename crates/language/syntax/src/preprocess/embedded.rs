//! The standard include files, built into the compiler so that it works without installation.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::Options;
use crate::ast::{Decl, DeclKind};
use hopwright_source::SourceMap;

/// The built-in include files, those that others include first.
const FILES: [(&str, &str); 10] = [
    ("core.p4", include_str!("../../p4/core.p4")),
    ("v1model.p4", include_str!("../../p4/v1model.p4")),
    ("psa.p4", include_str!("../../p4/psa.p4")),
    ("pna.p4", include_str!("../../p4/pna.p4")),
    ("crypto.p4", include_str!("../../p4/crypto.p4")),
    ("internet_checksum.p4", include_str!("../../p4/internet_checksum.p4")),
    ("tofino.p4", include_str!("../../p4/tofino.p4")),
    ("tna.p4", include_str!("../../p4/tna.p4")),
    ("t2na.p4", include_str!("../../p4/t2na.p4")),
    ("bits.p4", include_str!("../../p4/bits.p4")),
];

/// Folders in which p4c has the same file for different targets.
const TARGETS: [&str; 2] = ["bmv2/", "dpdk/"];

/// The text of a built-in include file.
pub(super) fn lookup(name: &str) -> Option<&'static str> {
    let name = TARGETS.iter().find_map(|target| name.strip_prefix(target)).unwrap_or(name);
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Names and texts of the built-in include files.
pub fn built_in_files() -> &'static [(&'static str, &'static str)] {
    &FILES
}

/// The built-in include file that declares this name at its top level, or as a match kind.
pub fn include_of(name: &str) -> Option<&'static str> {
    static NAMES: OnceLock<HashMap<String, &'static str>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let mut names = HashMap::new();
        for (file, text) in FILES {
            let options = Options { no_disk: true, ..Options::default() };
            let (program, _) = crate::parse_text(&mut SourceMap::new(), file, text, &options);
            // Of names that are in several, an included file's comes first.
            for name in program.decls.iter().flat_map(declared) {
                names.entry(name).or_insert(file);
            }
        }
        names
    });
    names.get(name).copied()
}

fn declared(decl: &Decl) -> Vec<String> {
    match &decl.kind {
        DeclKind::MatchKind(names) => names.iter().map(|n| n.to_string()).collect(),
        kind => kind.name().map(|n| n.to_string()).into_iter().collect(),
    }
}
