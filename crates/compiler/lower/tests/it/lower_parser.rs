//! Parsers: sub-parsers, stacks, lookahead, selects. Every program runs as lowered and after all passes.

use crate::programs::{PACKET, bytes, parser, pipeline, run};

const HEAD: &str = "parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {";

#[test]
fn a_sub_parser_returns_to_where_it_was_applied() {
    let text = parser(
        &format!(
            "parser Sub(packet_in q, out h_t x, inout bit<8> count) {{
                 state start {{ q.extract(x); count = count + 1;
                               transition select(x.a) {{ 1: more; default: accept; }} }}
                 state more {{ count = count + 10; transition accept; }}
             }}
             {HEAD}
                 Sub() sub;
                 state start {{ sub.apply(p, hdr.h, meta.m); sub.apply(p, hdr.g, meta.m);
                               meta.m = meta.m + 100; transition accept; }}
             }}"
        ),
        "hdr.h.b = meta.m;",
    );
    // The first header has a = 1, the second not.
    let out = bytes(&text, &PACKET);
    assert_eq!(out[1], 112);
    assert_eq!(&out[8..], &PACKET[8..]);
}

#[test]
fn a_stack_fills_until_its_end() {
    let text = parser(
        &format!(
            "{HEAD} state start {{ p.extract(hdr.s.next); meta.w = (bit<16>) hdr.s.lastIndex;
                        transition select(hdr.s.last.more) {{ 1: start; default: accept; }} }} }}"
        ),
        "hdr.h.setValid(); hdr.h.a = hdr.s[1].v; hdr.h.d = (bit<32>) meta.w;",
    );
    let out = bytes(&text, &[1, 10, 1, 11, 0, 12]);
    assert_eq!((out[0], out[7]), (11, 2));
    let full = run(&text, &[1, 10, 1, 11, 1, 12, 0, 13]);
    let errors = pipeline(&text, true).errors;
    assert_eq!(errors[full.parser_error as usize], "StackOutOfBounds");
    let short = run(&text, &[1, 10, 1]);
    assert_eq!(errors[short.parser_error as usize], "PacketTooShort");
}

#[test]
fn lookahead_does_not_consume() {
    let text = parser(
        &format!(
            "{HEAD} state start {{ pair_t next = p.lookahead<pair_t>(); meta.p = next;
                        transition select(p.lookahead<bit<4>>()) {{ 0: both; default: accept; }} }}
                    state both {{ p.extract(hdr.h); transition accept; }} }}"
        ),
        "hdr.h.c = meta.p.r ++ meta.p.l;",
    );
    assert_eq!(bytes(&text, &PACKET)[..4], [1, 2, 2, 1]);
}

#[test]
fn selects_match_masks_ranges_and_values_known_at_run_time() {
    let text = |cases: &str| {
        parser(
            &format!(
                "{HEAD} state start {{ p.extract(hdr.h); p.extract(hdr.g);
                            transition select(hdr.h.a, hdr.h.b) {{ {cases} default: no; }} }}
                        state yes {{ meta.m = 7; transition accept; }} state no {{ transition accept; }} }}"
            ),
            "hdr.h.b = meta.m;",
        )
    };
    let hit = |cases: &str| bytes(&text(cases), &PACKET)[1] == 7;
    assert!(hit("(1, 2): yes;"));
    assert!(!hit("(1, 3): yes;"));
    assert!(hit("(1 &&& 3, _): yes;"));
    assert!(hit("(_, 1 .. 2): yes;"));
    assert!(!hit("(_, 3 .. 9): yes;"));
    assert!(hit("(hdr.g.a - 16, 2): yes;"));
    assert!(!hit("(hdr.g.a, 2): yes;"));
}

#[test]
fn verify_stops_with_its_error_and_keeps_what_was_extracted() {
    let text = parser(
        &format!(
            "error {{ Odd }} {HEAD} state start {{ p.extract(hdr.h); meta.m = 1;
                        verify(hdr.h.a == 0, error.Odd); meta.m = 2; p.extract(hdr.g); transition accept; }} }}"
        ),
        "if (std.parser_error == error.Odd) { hdr.h.b = meta.m; }",
    );
    let output = run(&text, &PACKET);
    assert_eq!(output.sent[0].bytes[..2], [1, 1]);
    assert_eq!(output.sent[0].bytes[8..], PACKET[8..], "the rest is payload");
}

#[test]
fn what_a_parser_variable_holds_is_new_for_every_packet_and_kept_between_states() {
    let text = parser(
        &format!(
            "{HEAD} bit<8> n = 5;
                    state start {{ p.extract(hdr.h); n = n + hdr.h.a; transition second; }}
                    state second {{ bit<8> k; k = k + n; meta.m = k; transition accept; }} }}"
        ),
        "hdr.h.b = meta.m;",
    );
    assert_eq!(bytes(&text, &PACKET)[1], 6);
}

#[test]
fn states_without_a_way_to_them_are_removed() {
    let text = parser(
        &format!(
            "{HEAD} state start {{ p.extract(hdr.h); transition select(8w1) {{ 1: accept; default: other; }} }}
                    state other {{ transition accept; }} }}"
        ),
        "",
    );
    assert_eq!(pipeline(&text, false).parser.states.len(), 2);
    assert_eq!(pipeline(&text, true).parser.states.len(), 1);
    assert_eq!(bytes(&text, &PACKET), PACKET);
}

#[test]
fn a_stack_of_unions_fills_and_shifts() {
    let text = parser(
        &format!(
            "{HEAD} state start {{ transition select(p.lookahead<bit<8>>()) {{ 1: one; 2: two; default: accept; }} }}
                    state one {{ p.extract(hdr.us.next.one); transition start; }}
                    state two {{ p.extract(hdr.us.next.two); transition start; }} }}"
        ),
        "if (hdr.us[0].two.isValid()) { hdr.us.pop_front(1); } else { hdr.us.push_front(1); }",
    )
    .replace("u_t u; }", "u_t u; u_t[2] us; }");
    assert_eq!(bytes(&text, &[2, 5, 1, 0, 9]), [1, 0, 9], "the first is gone");
    assert_eq!(bytes(&text, &[1, 2, 5, 0, 9]), [1, 0, 9], "the second is pushed out");
    let full = run(&text, &[1, 1, 1, 0]);
    assert_eq!(pipeline(&text, true).errors[full.parser_error as usize], "StackOutOfBounds");
}
