//! `hopwright explain`: prints a section of `docs/errors.md`.

use crate::cli::ExplainArgs;
use crate::failure::Failure;

const TEXT: &str = include_str!("../../errors.text");

/// Prints the explanation of a code, or all codes.
pub(crate) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let mut out = String::new();
    match &args.code {
        Some(code) => {
            let code = code.to_ascii_uppercase();
            let Some(section) = sections().find(|s| s.code == code) else {
                // Zeros are easily left out.
                let padded = code.get(1..).map(|digits| format!("{}{digits:0>4}", &code[..1]));
                let near = padded.filter(|padded| sections().any(|s| s.code == padded));
                let hint = near.map_or(String::new(), |near| format!(" did you mean `{near}`?"));
                return Err(Failure::message(format!(
                    "no error or warning has the code `{code}`;{hint} `explain` lists all"
                )));
            };
            out += &format!("{}: {}\n", section.code, section.title);
            // What a box leads to stands beside it, not in its first line.
            for line in section.body.lines() {
                match line.strip_prefix("```p4,") {
                    Some(kind) if kind.ends_with("fine") => out += "``` fine\n",
                    Some(_) => out += &format!("``` {}\n", section.code),
                    None => out += &format!("{line}\n"),
                }
            }
        }
        None => sections().for_each(|s| out += &format!("{}  {}\n", s.code, s.title)),
    }
    print!("{out}");
    Ok(())
}

struct Section {
    code: &'static str,
    title: &'static str,
    body: &'static str,
}

fn sections() -> impl Iterator<Item = Section> {
    TEXT.split("\n## ").skip(1).filter_map(|section| {
        let (heading, body) = section.split_once('\n')?;
        let (code, title) = heading.split_once(": ")?;
        Some(Section { code, title, body: body.trim_end() })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use hopwright_driver::{check_text, compile_text};
    use hopwright_syntax::{Options, render};

    use super::*;

    /// A box of a section: what its first line says, and its lines.
    fn boxes(section: &Section) -> Vec<(Vec<&'static str>, &'static str)> {
        section
            .body
            .split("```p4,")
            .skip(1)
            .map(|rest| {
                let (info, rest) = rest.split_once('\n').unwrap();
                (info.split(',').collect(), rest.split_once("```").unwrap().0)
            })
            .collect()
    }

    /// A whole program around an example for Tofino.
    fn tofino_program(inside: &str) -> String {
        format!(
            "#include <core.p4>
            #include <tna.p4>
            header example_t {{ bit<8> a; bit<8> b; }}
            struct headers_t {{ example_t data; example_t more; }}
            struct metadata_t {{ bit<8> x; }}
            struct none_t {{ }}
            parser ExampleParser(packet_in packet, out headers_t hdr, out metadata_t meta,
                                 out ingress_intrinsic_metadata_t intrinsic) {{
                state start {{
                    packet.extract(intrinsic);
                    packet.advance(PORT_METADATA_SIZE);
                    packet.extract(hdr.data);
                    transition accept;
                }}
            }}
            control Example(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t intrinsic,
                            in ingress_intrinsic_metadata_from_parser_t from_parser,
                            inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                            inout ingress_intrinsic_metadata_for_tm_t for_tm) {{
                {inside}
            }}
            control ExampleDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta,
                                    in ingress_intrinsic_metadata_for_deparser_t for_deparser) {{
                apply {{ packet.emit(hdr); }}
            }}
            parser NoParser(packet_in packet, out none_t hdr, out none_t meta, out egress_intrinsic_metadata_t intrinsic) {{
                state start {{
                    packet.extract(intrinsic);
                    transition accept;
                }}
            }}
            control NoEgress(inout none_t hdr, inout none_t meta, in egress_intrinsic_metadata_t intrinsic,
                             in egress_intrinsic_metadata_from_parser_t from_parser,
                             inout egress_intrinsic_metadata_for_deparser_t for_deparser,
                             inout egress_intrinsic_metadata_for_output_port_t for_port) {{ apply {{ }} }}
            control NoDeparser(packet_out packet, inout none_t hdr, in none_t meta,
                               in egress_intrinsic_metadata_for_deparser_t for_deparser) {{ apply {{ }} }}
            Pipeline(ExampleParser(), Example(), ExampleDeparser(), NoParser(), NoEgress(), NoDeparser()) pipe;
            Switch(pipe) main;
            "
        )
    }

    /// A whole program around an example.
    fn program(place: &str, example: &str) -> String {
        match place {
            "tna" => return tofino_program(&format!("apply {{\n{example}\n}}")),
            "tna-declarations" => return tofino_program(example),
            _ => {}
        }
        let (outside, inside) = match place {
            "apply" => ("", format!("apply {{\n{example}\n}}")),
            "apply-declarations" => ("", example.to_string()),
            _ => (example, "apply { }".to_string()),
        };
        format!(
            "#include <core.p4>
            #include <v1model.p4>
            {outside}
            header example_t {{ bit<8> a; bit<8> b; bit<16> wide; int<8> number; }}
            struct headers_t {{ example_t data; example_t[2] stack; }}
            struct metadata_t {{ bit<8> x; bool flag; }}
            parser ExampleParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                                 inout standard_metadata_t std) {{
                state start {{ packet.extract(hdr.data); transition accept; }}
            }}
            control NoChecksums(inout headers_t hdr, inout metadata_t meta) {{ apply {{ }} }}
            control Example(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {{
                {inside}
            }}
            control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {{ apply {{ }} }}
            control ExampleDeparser(packet_out packet, in headers_t hdr) {{ apply {{ packet.emit(hdr); }} }}
            V1Switch(ExampleParser(), NoChecksums(), Example(), NoEgress(), NoChecksums(), ExampleDeparser()) main;
            "
        )
    }

    #[test]
    fn every_example_does_what_it_says() {
        for section in sections() {
            for (info, example) in boxes(&section) {
                let (place, wanted) = match info.as_slice() {
                    [wanted] => ("outside", *wanted),
                    [place, wanted] => (*place, *wanted),
                    _ => panic!("{}: {info:?}", section.code),
                };
                let text = if place == "whole" { example.to_string() } else { program(place, example) };
                let compiled = compile_text("example.p4", &text, &Options::default(), true);
                let mut found: BTreeSet<&str> = compiled.diagnostics.iter().map(|d| d.code).collect();
                if wanted != "W0025" {
                    // Many examples are declarations that nothing uses.
                    found.remove("W0025");
                }
                let shown = render::render(&compiled.diagnostics, &compiled.sources, false);
                if hopwright_lint::means("portable", section.code) {
                    let checked = check_text("example.p4", &text, &Options::default());
                    let typed =
                        checked.typed.as_ref().unwrap_or_else(|| panic!("{}:\n{example}\n{shown}", section.code));
                    let targets = &hopwright_lint::Target::ALL;
                    let portable = hopwright_lint::portable(&checked.program, typed, &checked.sources, targets);
                    let warns = portable.iter().any(|d| d.code == section.code);
                    assert_eq!(warns, wanted == section.code, "{}:\n{example}\n{shown}", section.code);
                    continue;
                }
                if wanted == "fine" {
                    assert!(found.is_empty(), "{}:\n{example}\n{shown}", section.code);
                } else {
                    assert_eq!(wanted, section.code);
                    assert!(found.contains(wanted), "{}:\n{example}\n{shown}", section.code);
                }
            }
        }
    }

    /// Codes in string literals of the compiler's sources.
    fn used(dir: &Path, codes: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                used(&path, codes);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let literals = text.split('"').filter(|s| {
                    s.len() == 5 && s.starts_with(['E', 'W']) && s[1..].bytes().all(|b| b.is_ascii_digit())
                });
                codes.extend(literals.map(str::to_string));
            }
        }
    }

    #[test]
    fn every_code_is_explained_once_and_exists() {
        let mut in_sources = BTreeSet::new();
        let language = ["language/syntax", "language/sema", "language/lint"];
        let others = ["compiler/ir", "compiler/opt", "compiler/lower", "compiler/driver", "targets/jit", "apps/cli"];
        for folder in language.iter().chain(&others) {
            let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join("src");
            used(&dir, &mut in_sources);
        }
        let explained: Vec<String> = sections().map(|s| s.code.to_string()).collect();
        let in_order: Vec<String> = in_sources.into_iter().collect();
        assert_eq!(explained, in_order);
    }
}
