//! The engines' sources.

use std::collections::BTreeSet;

/// Names and texts of all engines.
const ENGINES: &[(&str, &str)] = &[
    ("hw_aes128", include_str!("../lib/hw_aes128.sv")),
    ("hw_aes128_key", include_str!("../lib/hw_aes128_key.sv")),
    ("hw_arbiter", include_str!("../lib/hw_arbiter.sv")),
    ("hw_axil", include_str!("../lib/hw_axil.sv")),
    ("hw_bucket", include_str!("../lib/hw_bucket.sv")),
    ("hw_byte_sums", include_str!("../lib/hw_byte_sums.sv")),
    ("hw_cmac", include_str!("../lib/hw_cmac.sv")),
    ("hw_counter", include_str!("../lib/hw_counter.sv")),
    ("hw_crc", include_str!("../lib/hw_crc.sv")),
    ("hw_csum", include_str!("../lib/hw_csum.sv")),
    ("hw_delay", include_str!("../lib/hw_delay.sv")),
    ("hw_digest", include_str!("../lib/hw_digest.sv")),
    ("hw_edit", include_str!("../lib/hw_edit.sv")),
    ("hw_exact", include_str!("../lib/hw_exact.sv")),
    ("hw_extract", include_str!("../lib/hw_extract.sv")),
    ("hw_fetch", include_str!("../lib/hw_fetch.sv")),
    ("hw_fifo", include_str!("../lib/hw_fifo.sv")),
    ("hw_hash", include_str!("../lib/hw_hash.sv")),
    ("hw_index", include_str!("../lib/hw_index.sv")),
    ("hw_insert", include_str!("../lib/hw_insert.sv")),
    ("hw_join", include_str!("../lib/hw_join.sv")),
    ("hw_loop", include_str!("../lib/hw_loop.sv")),
    ("hw_loop_queue", include_str!("../lib/hw_loop_queue.sv")),
    ("hw_lpm", include_str!("../lib/hw_lpm.sv")),
    ("hw_masked", include_str!("../lib/hw_masked.sv")),
    ("hw_meter", include_str!("../lib/hw_meter.sv")),
    ("hw_packet_store", include_str!("../lib/hw_packet_store.sv")),
    ("hw_ram", include_str!("../lib/hw_ram.sv")),
    ("hw_random", include_str!("../lib/hw_random.sv")),
    ("hw_register", include_str!("../lib/hw_register.sv")),
    ("hw_replicate", include_str!("../lib/hw_replicate.sv")),
    ("hw_sbox", include_str!("../lib/hw_sbox.sv")),
    ("hw_skid", include_str!("../lib/hw_skid.sv")),
    ("hw_ternary", include_str!("../lib/hw_ternary.sv")),
];

/// Names and texts of engines and of the engines that they are made of.
pub fn with_parts(names: &BTreeSet<&'static str>) -> Vec<(&'static str, &'static str)> {
    let mut needed = names.clone();
    loop {
        let used = ENGINES.iter().filter(|(name, _)| needed.contains(name)).flat_map(|(_, text)| parts(text));
        let all: BTreeSet<&'static str> = needed.iter().copied().chain(used).collect();
        if all.len() == needed.len() {
            break;
        }
        needed = all;
    }
    ENGINES.iter().filter(|(name, _)| needed.contains(name)).copied().collect()
}

/// The engines that a module has instances of: lines that begin with their name.
fn parts(text: &str) -> impl Iterator<Item = &'static str> {
    let firsts: BTreeSet<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    ENGINES.iter().map(|(name, _)| *name).filter(move |name| firsts.contains(name)).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_engines_are_here() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("lib");
        let files = std::fs::read_dir(folder).unwrap().filter_map(|entry| {
            entry.unwrap().file_name().to_str().and_then(|name| name.strip_suffix(".sv")).map(str::to_string)
        });
        let mut files: Vec<String> = files.collect();
        files.sort();
        assert_eq!(files, ENGINES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }

    #[test]
    fn exact_match_needs_its_hashes_and_memories() {
        let names: Vec<&str> = with_parts(&BTreeSet::from(["hw_exact"])).into_iter().map(|(name, _)| name).collect();
        for part in ["hw_crc", "hw_exact", "hw_ram"] {
            assert!(names.contains(&part), "{part}");
        }
        assert!(!names.contains(&"hw_meter"));
    }
}
