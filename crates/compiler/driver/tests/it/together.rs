//! Several programs for the pipes of one device.

use hopwright_driver::{Compiled, Part, compile_together};
use hopwright_syntax::Options;

const ROUTER: &str = include_str!("../../../../../tests/bfruntime/router.p4");

/// A program's name, and its pipelines with the pipes that they are in.
type Placed<'a> = (&'a str, &'a [(&'a str, &'a [usize])]);

fn compiled(parts: &[Placed<'_>]) -> Compiled {
    let part = |(name, pipes): &Placed<'_>| Part {
        name: name.to_string(),
        main: format!("{name}.p4"),
        text: ROUTER.into(),
        options: Options { no_disk: true, ..Options::default() },
        pipes: pipes.iter().map(|(pipeline, numbers)| (pipeline.to_string(), numbers.to_vec())).collect(),
    };
    compile_together("both", &parts.iter().map(part).collect::<Vec<_>>(), true)
}

#[test]
fn programs_with_the_same_names_are_in_pipes_of_their_own() {
    let both = compiled(&[("left", &[("pipe", &[0, 2])]), ("right", &[("pipe", &[1, 3])])]);
    let (Some(pipeline), Some(typed)) = (&both.pipeline, &both.typed) else { panic!("{}", both.report(false)) };
    assert_eq!(both.diagnostics.error_count(), 0);
    assert_eq!(typed.main.pipelines, ["left.pipe", "right.pipe", "left.pipe", "right.pipe"]);
    assert_eq!(typed.main.blocks.len(), 4 * 6);
    for name in ["left.In.routes", "right.In.routes"] {
        assert_eq!(pipeline.tables.iter().filter(|table| table.name == name).count(), 1, "{name}");
    }
    // Errors of both have the same numbers.
    assert_eq!(typed.errors.iter().filter(|error| *error == "PacketTooShort").count(), 1);
}

#[test]
fn programs_that_cannot_be_together_are_refused() {
    let cases: [(&[Placed<'_>], &str); 9] = [
        (&[("a", &[("pipe", &[0])]), ("a", &[("pipe", &[1])])], "two are called `a`"),
        (&[("a", &[("pipe", &[0])]), ("a.b", &[("pipe", &[1])])], "has a dot"),
        (&[("a", &[("pipe", &[0, 1])]), ("b", &[("pipe", &[1])])], "two pipelines are in pipe 1"),
        (&[("a", &[("pipe", &[0])]), ("b", &[("pipe", &[2])])], "none is left out"),
        (&[("a", &[("pipe", &[0])]), ("b", &[("pipe", &[4])])], "there is no pipe 4"),
        (&[("a", &[("pipe", &[0])]), ("b", &[("pipe", &[])])], "no pipe is said"),
        (&[("a", &[("pipe", &[0])]), ("b", &[])], "no pipe is said"),
        (&[("a", &[("pipe", &[0])]), ("b", &[("pipe", &[1]), ("other", &[2])])], "no pipeline `other`"),
        (&[], "there is none"),
    ];
    for (parts, reason) in cases {
        let refused = compiled(parts);
        let report = refused.report(false);
        assert!(
            refused.pipeline.is_none() && report.contains("E0462") && report.contains(reason),
            "{reason}: {report}"
        );
    }
}
