//! Several programs for the pipes of one device.

use hopwright_driver::{Compiled, Part, compile_together};
use hopwright_syntax::Options;

const ROUTER: &str = include_str!("../../../../../tests/bfruntime/router.p4");

/// A program's name, and its pipelines with the pipes that they are in.
type Placed<'a> = (&'a str, &'a [(&'a str, &'a [usize])]);

fn part((name, pipes): &Placed<'_>, text: &str) -> Part {
    Part {
        name: name.to_string(),
        main: format!("{name}.p4"),
        text: text.into(),
        options: Options { no_disk: true, ..Options::default() },
        pipes: pipes.iter().map(|(pipeline, numbers)| (pipeline.to_string(), numbers.to_vec())).collect(),
    }
}

fn compiled(parts: &[Placed<'_>]) -> Compiled {
    let parts: Vec<Part> = parts.iter().map(|placed| part(placed, ROUTER)).collect();
    compile_together("both", &parts, true)
}

/// The router, and beside it another one with this text.
fn beside(text: &str) -> Compiled {
    let parts = [part(&("a", &[("pipe", &[0])]), ROUTER), part(&("b", &[("pipe", &[1])]), text)];
    compile_together("both", &parts, true)
}

/// The router with other text in one place.
fn changed(from: &str, to: &str) -> String {
    assert_eq!(ROUTER.matches(from).count(), 1, "{from}");
    ROUTER.replace(from, to)
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

/// Packets of a pipe without a program are dropped.
#[test]
fn a_pipe_may_have_no_program() {
    let both = compiled(&[("a", &[("pipe", &[0])]), ("b", &[("pipe", &[2])])]);
    let Some(typed) = &both.typed else { panic!("{}", both.report(false)) };
    assert_eq!((typed.main.pipelines.len(), typed.main.pipes.as_slice()), (2, &[0, 2][..]));
    assert_eq!([0, 1, 2, 3].map(|pipe| typed.main.pipeline_in(pipe, 2)), [Some(0), None, Some(1), None]);
}

#[test]
fn programs_that_cannot_be_together_are_refused() {
    let cases: [(&[Placed<'_>], &str); 8] = [
        (&[("a", &[("pipe", &[0])]), ("a", &[("pipe", &[1])])], "two are called `a`"),
        (&[("a", &[("pipe", &[0])]), ("a.b", &[("pipe", &[1])])], "has a dot"),
        (&[("a", &[("pipe", &[0, 1])]), ("b", &[("pipe", &[1])])], "two pipelines are in pipe 1"),
        (&[("a", &[("pipe", &[0])]), ("b", &[("pipe", &[4])])], "there is no pipe 4"),
        (&[("a", &[("pipe", &[0])]), ("b", &[("pipe", &[])])], "no pipe is given"),
        (&[("a", &[("pipe", &[0])]), ("b", &[])], "no pipe is given"),
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

/// All programs have one channel to controllers.
#[test]
fn programs_with_other_packets_of_controllers_are_refused() {
    let packet_out = "    bit<7>   padding;\n    PortId_t egress_port;\n";
    let wider = changed(packet_out, "    bit<15>  padding;\n    PortId_t egress_port;\n");
    let absent = changed("@controller_header(\"packet_out\")", "");
    for text in [wider, absent] {
        let report = beside(&text).report(false);
        assert!(report.contains("E0462") && report.contains("the controller headers `packet_out`"), "{report}");
    }
    let renamed = changed(packet_out, "    bit<7>   zero;\n    PortId_t egress_port;\n");
    let fits = beside(&renamed);
    assert!(fits.pipeline.is_some(), "{}", fits.report(false));
}

#[test]
fn each_program_has_its_warnings() {
    let unused = changed("@noWarn(\"unused\") Lpf<", "Lpf<");
    let warned = beside(&unused);
    let found: Vec<_> = warned.diagnostics.iter().filter(|d| d.message.contains("`smoothed`")).collect();
    assert!(warned.pipeline.is_some() && found.len() == 1, "{}", warned.report(false));
}
