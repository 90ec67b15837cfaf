//! Architectures and their metadata.

use std::collections::BTreeMap;

use hopwright_sema::hir::{Expr, ExprKind, Type};
use hopwright_source::Span;

use super::{Lint, Target};
use crate::visit::{self, Seen};

/// What has the place of a member of v1model's `standard_metadata_t`: in the Portable Switch Architecture, and on a Tofino. Empty if
/// there is nothing.
const STANDARD_METADATA: [(&str, &str, &str); 16] = [
    ("ingress_port", "`ingress_port` of the input metadata", "`ig_intr_md.ingress_port`"),
    ("egress_spec", "`send_to_port(ostd, port)`", "`ucast_egress_port` of the metadata for the traffic manager"),
    ("egress_port", "`egress_port` of the egress input metadata", "`eg_intr_md.egress_port`"),
    (
        "instance_type",
        "`packet_path` of the input metadata",
        "a member of the mirror or bridge header that tells them apart",
    ),
    ("packet_length", "", "`eg_intr_md.pkt_length`, in egress only, with the frame check sequence"),
    ("enq_timestamp", "", "`eg_intr_md.enq_tstamp`"),
    ("enq_qdepth", "", "`eg_intr_md.enq_qdepth`"),
    ("deq_timedelta", "", "`eg_intr_md.deq_timedelta`"),
    ("deq_qdepth", "", "`eg_intr_md.deq_qdepth`"),
    (
        "ingress_global_timestamp",
        "`ingress_timestamp` of the input metadata",
        "`ig_intr_md.ingress_mac_tstamp` or `global_tstamp` from the parser, in nanoseconds",
    ),
    (
        "egress_global_timestamp",
        "`egress_timestamp` of the input metadata",
        "`global_tstamp` of the metadata from the egress parser, in nanoseconds",
    ),
    ("mcast_grp", "`multicast(ostd, group)`", "`mcast_grp_a` of the metadata for the traffic manager"),
    ("egress_rid", "`instance` of the egress input metadata", "`eg_intr_md.egress_rid`"),
    (
        "checksum_error",
        "an `InternetChecksum` in the parser",
        "`Checksum.verify` in the parser, which is true for a wrong checksum",
    ),
    ("parser_error", "`parser_error` of the input metadata", "`parser_err` of the metadata from the parser, as bits"),
    ("priority", "`class_of_service` of the output metadata", "`qid` of the metadata for the traffic manager"),
];

impl Lint<'_, '_> {
    /// Whether the program is for the target's architecture.
    pub(super) fn is_native(&self) -> bool {
        self.target.runs(self.architecture)
    }

    pub(super) fn architecture(&mut self) {
        if self.is_native() {
            return;
        }
        let (package, blocks) = match self.target {
            Target::Bmv2 => {
                ("v1model's `V1Switch`", "parser, checksum verification, ingress, egress, checksum update, deparser")
            }
            Target::Tofino => (
                "`Pipeline` and `Switch` of tna.p4",
                "parser, control and deparser for ingress, and the same for egress, which parses the packet again",
            ),
            Target::Psa => (
                "`PSA_Switch` of psa.p4",
                "parser, control and deparser for ingress, and the same for egress, which parses the packet again",
            ),
        };
        let what = format!("the program is for {}", self.architecture);
        let instead = format!(
            "keep headers, tables and actions in files of their own, and instantiate {package} beside it: {blocks}"
        );
        self.say("W0039", self.program.main.span, &what, "", &instead);
        self.standard_metadata();
    }

    /// Members of `standard_metadata_t`, each where it is used first.
    fn standard_metadata(&mut self) {
        let program = self.program;
        let mut first: BTreeMap<&str, (Span, usize)> = BTreeMap::new();
        visit::program(program, &mut |seen| {
            if let Seen::Expr(Expr { kind: ExprKind::Field(base, at), span, .. }) = seen
                && let Type::Struct(id) = base.ty
                && program[id].name == "standard_metadata_t"
            {
                let (known, uses) = first.entry(&program[id].fields[*at].name).or_insert((*span, 0));
                (*known, *uses) = ((*known).min(*span), *uses + 1);
            }
        });
        for (member, (span, uses)) in first {
            let row = STANDARD_METADATA.iter().find(|(name, ..)| *name == member);
            let instead = row.map_or("", |(_, psa, tna)| if self.target == Target::Psa { psa } else { tna });
            let further = match uses - 1 {
                0 => String::new(),
                1 => " and in one more place".into(),
                n => format!(" and in {n} more places"),
            };
            let what = format!("`{member}` is v1model's metadata, used here{further}");
            match instead {
                "" => self.say("W0040", span, &what, "the architecture has nothing in its place", ""),
                instead => self.say("W0040", span, &what, "", &format!("there it is {instead}")),
            }
        }
    }
}
