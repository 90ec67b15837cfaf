//! Tests that engines differ on are reduced to what shows it.

use std::cell::Cell;
use std::sync::Arc;

use hopwright_driver::compile_text;
use hopwright_interp::Interp;
use hopwright_stf::counterexample::{Difference, difference, reduce};
use hopwright_stf::{Processed, Script, parse};

use crate::runner::PROGRAM;

fn interp(program: &str) -> Interp {
    let compiled = compile_text("test.p4", program, &Default::default(), true);
    let pipeline = compiled.pipeline.unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics));
    Interp::new(Arc::new(pipeline)).unwrap()
}

/// Ten entries and forty packets, of which one entry and two packets are needed: the second one finds what the first has left in a register.
fn test() -> String {
    let mut text = String::from("# many lines\n");
    for entry in 0..10 {
        text.push_str(&format!("add t 1 hdr.h[0].a:0x0{entry} to(port:{entry}, mark:7)\n"));
    }
    for packet in 0..40 {
        text.push_str(&format!("packet {} {:02x} 00 0000 aabb\nexpect 1\n", packet % 4, packet % 12));
    }
    text
}

/// What the program does with each packet.
const STEPS: &str = "last.write(0, hdr.h[0].a);\n        fix.apply();\n        t.apply();";

/// The program, which does more for a 4 that comes behind a 3.
fn with(more: &str) -> String {
    let steps = format!(
        "bit<8> before; last.read(before, 0); last.write(0, hdr.h[0].a); fix.apply(); t.apply();
         if (before == 3 && hdr.h[0].a == 4) {{ {more} }}"
    );
    let program = PROGRAM.replace(STEPS, &steps);
    assert_ne!(program, PROGRAM);
    program
}

#[test]
fn a_difference_is_reduced_to_the_lines_that_show_it() {
    // Another register is read, and the mark is one more if it is 3.
    let other = with("hdr.h[0].b = hdr.h[0].b + 1;");
    let trials = Cell::new(0);
    let mut differs = |script: &Script| -> Option<Difference> {
        trials.set(trials.get() + 1);
        difference(script, &mut interp(PROGRAM), &mut interp(&other)).ok().flatten()
    };
    let found = reduce(&test(), &mut differs).expect("they differ");
    let lines: Vec<&str> = found.text.lines().collect();
    assert_eq!(lines.len(), 3, "{found}");
    assert!(lines[0].starts_with("add t 1 hdr.h[0].a:0x04"), "{found}");
    assert!(lines[1].contains(" 03 00") && lines[2].contains(" 04 00"), "{found}");
    assert_eq!(found.difference.line, 3);
    assert!(found.to_string().contains("bytes 1 differ"), "{found}");
    assert!(trials.get() < 100, "{} trials", trials.get());
    // The first engine passes the test, and the second one does not.
    let script = parse("t", &found.test()).unwrap();
    assert!(hopwright_stf::run(&script, &mut interp(PROGRAM)).unwrap().passed());
    assert!(!hopwright_stf::run(&script, &mut interp(&other)).unwrap().passed());
    let folder = std::env::temp_dir().join(format!("hopwright-counterexample-{}", std::process::id()));
    let captures = found.write(&folder).unwrap();
    assert_eq!(captures.keys().copied().collect::<Vec<_>>(), [0, 3]);
    assert_eq!(std::fs::read(&captures[&3]).unwrap()[40..], [3, 0, 0, 0, 0xaa, 0xbb]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// The first packet leaves, too, and commands have several lines. The second one is changed, lost, sent in error, or copied to a port that the
/// first engine never uses.
#[test]
fn a_counterexample_tells_the_engines_apart() {
    let lines = "setdefault t \\\n to(port:1, mark:7) # all leave\nmirroring_add 5 6\npacket 1 03 00 \\\n 0000\nexpect 1 \\\n 0307\n\
                 packet 1 04 00 0000 # behind a 3\nexpect 1\npacket 1 09 00 0000\nexpect 1\n";
    let changes = [
        ("", "hdr.h[0].b = 1;"),
        ("", "mark_to_drop(sm);"),
        ("mark_to_drop(sm);", ""),
        ("", "if (sm.egress_spec == 1) { clone(CloneType.I2E, 5); }"),
    ];
    for change in changes {
        let (wanted, other) = (with(change.0), with(change.1));
        let mut differs =
            |script: &Script| difference(script, &mut interp(&wanted), &mut interp(&other)).ok().flatten();
        let found = reduce(lines, &mut differs).unwrap_or_else(|| panic!("{change:?}"));
        let packets = found.text.lines().filter(|line| line.starts_with("packet")).count();
        assert_eq!(packets, 2, "{change:?}: {found}");
        let script = parse("t", &found.test()).unwrap();
        assert_eq!(hopwright_stf::run(&script, &mut interp(&wanted)).unwrap().failures, [], "{change:?}: {found}");
        assert!(!hopwright_stf::run(&script, &mut interp(&other)).unwrap().passed(), "{change:?}: {}", found.test());
    }
}

#[test]
fn a_test_that_cannot_be_reduced_is_not_tried_for_ever() {
    let text = "packet 1 00\n".repeat(3000);
    let mut trials = 0;
    let mut differs = |script: &Script| {
        trials += 1;
        let (wanted, found) = (Processed::default(), Processed::default());
        (script.commands.len() == 3000).then(|| Difference { line: 3000, before: Vec::new(), wanted, found })
    };
    let found = reduce(&text, &mut differs).expect("they differ");
    assert_eq!(found.text.lines().count(), 3000);
    assert!(trials <= 1000, "{trials} trials");
}

#[test]
fn engines_that_agree_have_no_counterexample() {
    let mut differs = |script: &Script| difference(script, &mut interp(PROGRAM), &mut interp(PROGRAM)).ok().flatten();
    assert_eq!(reduce(&test(), &mut differs), None);
}
