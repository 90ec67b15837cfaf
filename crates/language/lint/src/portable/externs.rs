//! Extern functions and objects, and checksums.

use std::collections::BTreeMap;

use hopwright_sema::hir::{Call, Callee, Expr, ExprKind};
use hopwright_source::Span;

use super::{Lint, Target};
use crate::visit::{self, Seen};

/// Extern functions of v1model, with what has their place in the Portable Switch Architecture and on a Tofino.
const V1MODEL_FUNCTIONS: [(&str, &str, &str); 15] = [
    ("mark_to_drop", "`ingress_drop(ostd)` or `egress_drop(ostd)`", "`drop_ctl` of the metadata for the deparser"),
    ("hash", "a `Hash` object and `get_hash`", "a `Hash` object and `get`"),
    ("random", "a `Random` object and `read`", "a `Random` object and `get`"),
    ("digest", "a `Digest` object in the deparser", "a `Digest` object in the deparser"),
    ("clone", "`clone` and `clone_session_id` of the output metadata", "a `Mirror` object in the deparser"),
    (
        "clone3",
        "`clone`, and `clone_i2e_meta` for the data",
        "a `Mirror` object in the deparser, with the data as its header",
    ),
    (
        "clone_preserving_field_list",
        "`clone`, and `clone_i2e_meta` for the fields",
        "a `Mirror` object in the deparser, with the fields as its header",
    ),
    ("resubmit", "`resubmit` and `resubmit_meta`", "a `Resubmit` object in the ingress deparser"),
    ("resubmit_preserving_field_list", "`resubmit` and `resubmit_meta`", "a `Resubmit` object in the ingress deparser"),
    ("recirculate", "`PSA_PORT_RECIRCULATE` as port", "a recirculation port, and a header for the data"),
    (
        "recirculate_preserving_field_list",
        "`PSA_PORT_RECIRCULATE` as port",
        "a recirculation port, and a header for the data",
    ),
    ("truncate", "", "`mtu_trunc_len` of the metadata for the deparser, on Tofino 2"),
    ("assert", "", "nothing: leave it out there with `#ifdef`"),
    ("assume", "", "nothing: leave it out there with `#ifdef`"),
    ("log_msg", "", "nothing: leave it out there with `#ifdef`"),
];

/// Objects of v1model: their names in the Portable Switch Architecture, which a Tofino has as well.
const V1MODEL_OBJECTS: [(&str, &str); 8] = [
    ("counter", "Counter"),
    ("direct_counter", "DirectCounter"),
    ("meter", "Meter"),
    ("direct_meter", "DirectMeter"),
    ("register", "Register"),
    ("action_profile", "ActionProfile"),
    ("action_selector", "ActionSelector"),
    ("Checksum16", "InternetChecksum"),
];

/// What is declared by files of this compiler only, by target: BMv2 and others, Tofino.
const OWN: [(&str, &str, &str); 9] = [
    ("AesCmac", "an extern that you add to the switch", "AES in tables, as in p4/tofino"),
    ("AesCmacRoundKeys", "an extern that you add to the switch", "AES in tables, as in p4/tofino"),
    ("Aes128", "an extern that you add to the switch", "AES in tables, as in p4/tofino"),
    (
        "adjust_checksum",
        "`update_checksum` over all that the checksum covers",
        "`subtract` and `add` of a `Checksum` object",
    ),
    ("population_count", "sums of slices, or a table", "a table with the value as its key"),
    ("count_leading_zeros", "a `ternary` or `lpm` table", "a `ternary` table with the value as its key"),
    ("parity", "the exclusive or of slices", "the exclusive or of slices"),
    ("reverse_bits", "a concatenation of slices", "a concatenation of slices"),
    ("Checksum16", "`update_checksum`", "a `Checksum` object"),
];

/// The functions that check and set checksums of v1model.
const CHECKSUMS: [&str; 4] =
    ["verify_checksum", "update_checksum", "verify_checksum_with_payload", "update_checksum_with_payload"];

impl Lint<'_, '_> {
    /// Extern functions where they are called first, and objects where they are declared.
    pub(super) fn externs(&mut self) {
        let program = self.program;
        let mut functions: BTreeMap<&str, Span> = BTreeMap::new();
        let mut checksums: Vec<(&Call, &str)> = Vec::new();
        visit::program(program, &mut |seen| {
            if let Seen::Call(call @ Call { callee: Callee::ExternFunction(name), span, .. }) = seen {
                if CHECKSUMS.contains(&name.as_str()) {
                    checksums.push((call, name));
                }
                let first = functions.entry(name).or_insert(*span);
                *first = (*first).min(*span);
            }
        });
        for (name, span) in functions {
            self.extern_function(name, span);
        }
        for object in &program.objects {
            self.extern_object(&object.type_name, object.span);
        }
        for (call, name) in checksums {
            self.checksum(call, name);
        }
    }

    /// What is declared by files of this compiler only.
    fn own(&mut self, name: &str, span: Span) -> bool {
        let Some((_, others, tofino)) = OWN.iter().find(|(own, ..)| *own == name) else { return false };
        let instead = if self.target == Target::Tofino { tofino } else { others };
        self.say(
            "W0041",
            span,
            &format!("`{name}` is declared by files of Hopwright"),
            "",
            &format!("there it is {instead}"),
        );
        true
    }

    fn extern_function(&mut self, name: &str, span: Span) {
        if self.own(name, span) || self.is_native() || self.architecture != "v1model" {
            return;
        }
        let Some((_, psa, tna)) = V1MODEL_FUNCTIONS.iter().find(|(known, ..)| *known == name) else { return };
        let what = format!("`{name}` is a function of v1model");
        match if self.target == Target::Psa { psa } else { tna } {
            &"" => self.say("W0041", span, &what, "the architecture has nothing in its place", ""),
            instead => self.say("W0041", span, &what, "", &format!("there it is {instead}")),
        }
    }

    fn extern_object(&mut self, type_name: &str, span: Span) {
        if self.own(type_name, span) || self.is_native() {
            return;
        }
        let from = self.architecture;
        match self.target {
            // Its objects have names of the Portable Switch Architecture; what only a Tofino has is none of these.
            Target::Bmv2 => {
                let v1model = V1MODEL_OBJECTS.iter().find(|(_, other)| *other == type_name).map(|(name, _)| *name);
                let instead = v1model.map_or("a register and statements".into(), |name| format!("`{name}`"));
                self.say(
                    "W0041",
                    span,
                    &format!("`{type_name}` is an object of {from}"),
                    "",
                    &format!("in v1model it is {instead}"),
                );
            }
            Target::Psa | Target::Tofino => {
                let other = V1MODEL_OBJECTS.iter().find(|(name, _)| *name == type_name).map(|(_, other)| *other);
                let instead = match (other, self.target) {
                    (Some("Register"), Target::Tofino) => {
                        "`Register`, which a `RegisterAction` reads and writes in one step".to_string()
                    }
                    (Some("InternetChecksum"), Target::Tofino) => "`Checksum`".into(),
                    (Some(other), _) => format!("`{other}`"),
                    (None, Target::Psa) if !self.has_psa(type_name) => {
                        let what = format!("`{type_name}` is an object of {from}");
                        return self.say("W0041", span, &what, "the architecture has nothing in its place", "");
                    }
                    (None, _) => return,
                };
                let what = format!("`{type_name}` is an object of {from}");
                self.say("W0041", span, &what, "", &format!("there it is {instead}"));
            }
        }
    }

    /// Whether the Portable Switch Architecture has an object of this name.
    fn has_psa(&self, name: &str) -> bool {
        matches!(name, "Hash" | "Random" | "Digest") || V1MODEL_OBJECTS.iter().any(|(_, psa)| *psa == name)
    }

    /// Checksums of v1model, which others compute in parsers and deparsers.
    fn checksum(&mut self, call: &Call, name: &str) {
        if self.is_native() {
            return;
        }
        let verifies = name.starts_with("verify");
        let constant = |e: Option<&Expr>| matches!(e.map(|e| &e.kind), Some(ExprKind::Bool(true)));
        let condition = call.args.first().and_then(|a| a.value.as_ref());
        if name.ends_with("_with_payload") {
            let why = "parsers and deparsers do not have the payload";
            let instead = "subtract in the parser what the checksum covers of the headers, and add it in the deparser";
            return self.say("W0049", call.span, &format!("`{name}` sums the payload"), why, instead);
        }
        if self.target == Target::Tofino && verifies && !constant(condition) {
            let why = "a checksum is verified in the parser, in a state in which its header is extracted";
            let instead =
                "`Checksum.add` and `Checksum.verify` in that state: the condition is that the packet comes there";
            return self.say("W0049", call.span, "a checksum is verified on a condition", why, instead);
        }
        let where_to = if verifies { "in the parser" } else { "in the deparser" };
        let object = if self.target == Target::Psa { "InternetChecksum" } else { "Checksum" };
        self.say(
            "W0049",
            call.span,
            &format!("`{name}` is a function of v1model"),
            "",
            &format!("there it is a `{object}` object {where_to}"),
        );
        let algorithm = call.args.get(3).and_then(|a| a.value.as_ref());
        if let Some(Expr { kind: ExprKind::EnumMember(id, at), span, .. }) = algorithm
            && let Some((name, _)) = self.program[*id].members.get(*at).filter(|(name, _)| name != "csum16")
        {
            let why = "checksum units compute the Internet checksum only";
            self.say("W0049", *span, &format!("a checksum by `{name}`"), why, "compute a CRC by a `Hash` object");
        }
    }
}
