//! No text makes the parser panic, whatever it is.

use hopwright_stf::parse;
use proptest::prelude::*;

/// Lines that look like commands, so that more than the first word is read.
fn line() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "add|setdefault|packet|expect|check_counter|remove|mc_node_create|register_write|mirroring_add",
        "[a-z$.\\[\\]\"]{1,8}",
        "0[xb][0-9a-f*_]{0,40}",
        "[0-9]{1,22}",
        "[(){}:,=/*$#.<>!-]{1,3}",
        "\\PC{0,6}",
    ];
    prop::collection::vec(word, 0..10).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(lines in prop::collection::vec(line(), 0..6)) {
        let text = lines.join("\n");
        match parse("t", &text) {
            Ok(script) => prop_assert!(script.commands.len() <= lines.len()),
            Err(errors) => prop_assert!(errors.iter().all(|e| e.line as usize <= text.lines().count())),
        }
    }
}
