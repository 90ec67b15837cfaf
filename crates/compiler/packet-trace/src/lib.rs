//! The path of a packet through a program as JSON. `docs/packet-traces.md` describes the form.

use hopwright_interp::{Decision, Event, Observer, Stage, Trace, Value, match_text, value_text};
use hopwright_ir::{ExternFn, Param, Pipeline, SlotKind, Span, Target};
use serde_json::{Map, Value as Json, json};

/// Collects the events of packets, and their text.
#[derive(Debug)]
pub struct Events<'a> {
    pipeline: &'a Pipeline,
    /// Lines before those of `text`.
    lines: String,
    text: Trace<'a>,
    passes: Vec<Pass>,
    /// The ports that there are, if that is known.
    ports: Option<&'a [u32]>,
}

/// What happens from the beginning of the parser on.
#[derive(Debug, Default)]
struct Pass {
    events: Vec<Json>,
    /// For each packet that goes to egress, its events.
    copies: Vec<Vec<Json>>,
}

impl<'a> Events<'a> {
    /// Creates a collection without events, for this program.
    pub fn new(pipeline: &'a Pipeline) -> Events<'a> {
        Events { pipeline, lines: String::new(), text: Trace::new(pipeline), passes: Vec::new(), ports: None }
    }

    /// As [`Events::new`], of a switch with these ports: it drops packets that the program sends to others.
    pub fn in_switch(pipeline: &'a Pipeline, ports: &'a [u32]) -> Events<'a> {
        Events { ports: Some(ports), ..Events::new(pipeline) }
    }

    /// Whether a packet can leave at a port.
    pub fn has_port(&self, port: u16) -> bool {
        self.ports.is_none_or(|ports| ports.contains(&port.into()))
    }

    /// Returns the text and the passes of the packet since the last call.
    pub fn take(&mut self) -> (String, Json) {
        let copies =
            |copies: Vec<Vec<Json>>| copies.into_iter().map(|events| json!({ "events": events })).collect::<Vec<_>>();
        let passes = std::mem::take(&mut self.passes);
        let passes = passes.into_iter().map(|pass| json!({ "events": pass.events, "copies": copies(pass.copies) }));
        (std::mem::take(&mut self.lines) + &self.text.take(), passes.collect())
    }

    /// The program has sent a packet to a port that is not there.
    fn no_such_port(&mut self, port: u16) {
        self.lines += &self.text.take();
        self.lines += &format!("  => dropped: there is no port {port} (counted as no_such_port)\n");
        self.add("decision", Span::none(), json!({ "to": "drop", "reason": "no_such_port", "port": port }));
    }

    /// Adds an event to the packet at hand.
    fn add(&mut self, kind: &str, span: Span, fields: Json) {
        let mut event = Map::new();
        event.insert("event".into(), kind.into());
        if let Json::Object(fields) = fields {
            event.extend(fields);
        }
        if span != Span::none() {
            let location = self.pipeline.sources.location(span);
            event.insert("file".into(), (*location.file).into());
            event.insert("line".into(), location.line.into());
        }
        if self.passes.is_empty() {
            self.passes.push(Pass::default());
        }
        if let Some(pass) = self.passes.last_mut() {
            pass.copies.last_mut().unwrap_or(&mut pass.events).push(event.into());
        }
    }

    fn enter(&mut self, stage: Stage) {
        let name = match stage {
            Stage::Parser => "parser",
            Stage::VerifyChecksum => "verify_checksum",
            Stage::Ingress => "ingress",
            Stage::Egress => "egress",
            Stage::ComputeChecksum => "compute_checksum",
            Stage::Deparser => "deparser",
        };
        match (stage, self.passes.last_mut()) {
            (Stage::Parser, _) => self.passes.push(Pass::default()),
            (Stage::Egress, Some(pass)) => pass.copies.push(Vec::new()),
            _ => {}
        }
        self.add("enter", Span::none(), json!({ "block": name }));
    }

    fn table(&mut self, event: &Event<'_>) {
        let Event::Table { table, keys, entry, action, span } = event else { return };
        let table = &self.pipeline[*table];
        let matches = |n: usize, key: &Value, name: &str| {
            entry.and_then(|entry| entry.matches.get(n)).map(|m| match_text(name, key.width, m))
        };
        let keys = table.keys.iter().zip(*keys).enumerate().map(|(n, (key, value))| {
            json!({ "name": key.name, "match": key.kind.info().name, "value": value_text(&key.name, value.width, &value.bits),
                    "entry": matches(n, value, &key.name) })
        });
        let model = &self.pipeline[action.action];
        let value =
            |(param, value): (&Param, _)| (param.name.clone(), value_text(&param.name, param.ty.width(), value).into());
        let parameters: Map<String, Json> = model.params.iter().zip(&action.args).map(value).collect();
        let fields = json!({ "table": table.name, "keys": keys.collect::<Vec<_>>(), "hit": entry.is_some(),
                             "action": model.name, "parameters": parameters });
        self.add("table", *span, fields);
    }

    fn decision(&mut self, decision: Decision) {
        let fields = match decision {
            Decision::Unicast { port } => json!({ "to": "egress", "port": port }),
            Decision::Multicast { group, copies } => json!({ "to": "multicast", "group": group, "copies": copies }),
            Decision::DropIngress => json!({ "to": "drop", "reason": "ingress" }),
            Decision::DropEgress => json!({ "to": "drop", "reason": "egress" }),
            Decision::NoHeadroom { length } => json!({ "to": "drop", "reason": "no_headroom", "length": length }),
            Decision::Resubmit => json!({ "to": "resubmit" }),
            Decision::Recirculate => json!({ "to": "recirculate" }),
            Decision::CloneIngress { session } => json!({ "to": "clone", "from": "ingress", "session": session }),
            Decision::CloneEgress { session } => json!({ "to": "clone", "from": "egress", "session": session }),
            Decision::Digest => json!({ "to": "digest" }),
            Decision::Sent { port, length } => json!({ "to": "port", "port": port, "length": length }),
        };
        self.add("decision", Span::none(), fields);
    }
}

impl Observer for Events<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Decision(Decision::Sent { port, .. }) = event
            && !self.has_port(*port)
        {
            return self.no_such_port(*port);
        }
        self.text.event(event);
        let pipeline = self.pipeline;
        let hex = |values: &[Value]| values.iter().map(|v| format!("{:#x}", v.bits)).collect::<Vec<_>>();
        let state = |state: hopwright_ir::StateId| pipeline.parser.states[state.0 as usize].name.as_str();
        match event {
            Event::Enter(stage) => self.enter(*stage),
            Event::State { state: id, span } => self.add("state", *span, json!({ "state": state(*id) })),
            Event::Transition { keys, target, span, .. } => {
                let to = match target {
                    Target::State(id) => state(*id),
                    Target::Accept => "accept",
                    Target::Reject => "reject",
                };
                self.add("transition", *span, json!({ "keys": hex(keys), "to": to }));
            }
            Event::Extract { header, offset, length, span } => {
                let fields = json!({ "header": pipeline[*header].name, "offset": offset, "length": length });
                self.add("extract", *span, fields);
            }
            Event::ParserError { error, span } => {
                self.add("parser_error", *span, json!({ "error": pipeline.errors.get(*error as usize) }));
            }
            Event::Assign { slot, old, new, span } => {
                let slot = &pipeline[*slot];
                if old != new || !matches!(slot.kind, SlotKind::Local) {
                    let text = |value: &Value| value_text(&slot.name, slot.ty.width(), &value.bits);
                    self.add("assign", *span, json!({ "field": slot.name, "value": text(new), "was": text(old) }));
                }
            }
            Event::Validity { header, valid, span } => {
                self.add("validity", *span, json!({ "header": pipeline[*header].name, "valid": valid }));
            }
            Event::Table { .. } => self.table(event),
            Event::Extern { call, args } => {
                let object = match &call.function {
                    ExternFn::Named { instance, .. } => *instance,
                    other => other.object(),
                };
                // Arguments of named objects may be derived from keys.
                let (name, arguments) = match &call.function {
                    ExternFn::Named { name, .. } => (name.to_string(), None),
                    other => (other.name().to_string(), Some(hex(args))),
                };
                let object = object.map(|id| pipeline[id].name.as_str());
                self.add("extern", call.span, json!({ "object": object, "method": name, "arguments": arguments }));
            }
            Event::Log { message, span } => self.add("log", *span, json!({ "message": message })),
            Event::Exit { span } => self.add("exit", *span, json!({})),
            Event::Emit { header, span } => self.add("emit", *span, json!({ "header": pipeline[*header].name })),
            Event::Decision(decision) => self.decision(*decision),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hopwright_interp::Interp;

    use super::*;

    const L2: &str = include_str!("../../../../examples/l2.p4");

    #[test]
    fn a_packet_that_no_entry_matches_is_dropped_by_ingress() {
        let compiled = hopwright_driver::compile_text("l2.p4", L2, &Default::default(), true);
        let pipeline = Arc::new(compiled.pipeline.unwrap());
        let mut interp = Interp::new(pipeline.clone()).unwrap();
        let mut events = Events::new(&pipeline);
        let packet = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &[0; 46]].concat();
        assert!(interp.process_observed(&packet, 1, 0, &mut events).sent.is_empty());
        let (text, passes) = events.take();
        assert!(text.contains("miss -> SwitchIngress.drop()"), "{text}");
        assert_eq!(passes[0]["copies"], json!([]));
        let found = passes[0]["events"].as_array().unwrap();
        let table = found.iter().find(|event| event["event"] == "table").unwrap();
        let key = json!({ "name": "hdr.ethernet.dst", "match": "exact", "value": "02:00:00:00:00:01", "entry": null });
        assert_eq!(
            (&table["keys"][0], &table["hit"], &table["action"]),
            (&key, &false.into(), &"SwitchIngress.drop".into())
        );
        assert!(table["file"].as_str().unwrap().ends_with("l2.p4") && table["line"].is_u64());
        assert_eq!(found.last().unwrap(), &json!({ "event": "decision", "to": "drop", "reason": "ingress" }));
        assert_eq!(events.take().1, json!([]));
    }

    #[test]
    fn a_switch_drops_what_goes_to_a_port_that_it_does_not_have() {
        let pipeline = hopwright_driver::compile_text("l2.p4", L2, &Default::default(), true).pipeline.unwrap();
        let sent = |ports: Option<&[u32]>| {
            let mut events = match ports {
                Some(ports) => Events::in_switch(&pipeline, ports),
                None => Events::new(&pipeline),
            };
            events.event(&Event::Enter(Stage::Deparser));
            events.event(&Event::Decision(Decision::Sent { port: 70, length: 60 }));
            let (text, passes) = events.take();
            (text, passes[0]["events"][1].clone())
        };
        let there = json!({ "event": "decision", "to": "port", "port": 70, "length": 60 });
        for ports in [None, Some(&[1, 70][..])] {
            assert_eq!(sent(ports), ("  deparser\n  => sent to port 70, 60 bytes\n".into(), there.clone()));
        }
        let dropped = json!({ "event": "decision", "to": "drop", "reason": "no_such_port", "port": 70 });
        let text = "  deparser\n  => dropped: there is no port 70 (counted as no_such_port)\n";
        assert_eq!(sent(Some(&[1, 7][..])), (text.into(), dropped));
    }
}
