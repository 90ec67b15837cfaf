//! Statements that copy a packet or send it through the pipeline again.

use crate::{Architecture, Generator, Place, Ty};

impl Generator {
    /// Requests a copy, another pass, a truncation or a message in ingress or egress.
    pub(crate) fn traffic_statement(&mut self) -> bool {
        let v1model = self.config.architecture == Architecture::V1model;
        if !v1model || !matches!(self.place, Place::Control | Place::Action) || self.outer.is_empty() {
            return false;
        }
        let cond = self.expr(Ty::Bool, 2);
        let (session, list) = (self.random.between(1, 4), self.random.between(1, 3));
        let kind = if self.outer == "I" { "I2E" } else { "E2E" };
        // Only new packets request copies and passes, so that the program ends.
        let new = "sm.instance_type == 0";
        match self.random.below(6) {
            0 => self.line(format!("if ({new} && {cond}) {{ clone(CloneType.{kind}, {session}); }}")),
            1 => {
                let call = format!("clone_preserving_field_list(CloneType.{kind}, {session}, {list})");
                self.line(format!("if ({new} && {cond}) {{ {call}; }}"));
            }
            2 => {
                let again = if self.outer == "I" { "resubmit" } else { "recirculate" };
                self.line(format!("if ({new} && {cond}) {{ {again}_preserving_field_list({list}); }}"));
            }
            3 if self.outer == "I" => {
                let group = self.expr(Ty::Bits(16), 2);
                self.line(format!("if ({cond}) {{ sm.mcast_grp = {group} & 16w3; }}"));
            }
            4 => {
                let data = self.some_type();
                let mut data = self.expr(data, 1);
                if self.headers.varbit && self.sees_all && self.random.one_in(2) {
                    let more: &&str = self.random.pick(&[", hdr.v.data", ", meta.vb", ", hdr.v.data, meta.vb"]);
                    data.push_str(more);
                }
                self.line(format!("digest(1, {{ {data} }});"));
            }
            _ => {
                let length = self.expr(Ty::Bits(6), 2);
                self.line(format!("if ({cond}) {{ truncate((bit<32>)({length})); }}"));
            }
        }
        true
    }

    /// Configures some of the sessions and groups that the program uses.
    pub(crate) fn traffic_entries(&mut self) {
        let lines = [
            "mc_mgrp_create 1",
            "mc_mgrp_create 2",
            "mc_node_create 17 1 2",
            "mc_node_create 34 2",
            "mc_node_create 51 3 8 5",
            "mc_node_associate 1 0",
            "mc_node_associate 1 1",
            "mc_node_associate 2 2",
            "mirroring_add 1 6",
            "mirroring_add_mc 2 1",
            "mirroring_add 3 4",
            "mirroring_add_mc 3 2",
        ];
        for line in lines {
            self.entries.push_str(line);
            self.entries.push('\n');
        }
    }
}
