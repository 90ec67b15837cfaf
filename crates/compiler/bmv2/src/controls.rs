//! Ingress, egress and the deparser: graphs of tables, conditions and calls become structured controls.

use std::collections::HashMap;

use hopwright_ir::{Block, Expr, StmtKind, TableId, Type};
use num_bigint::BigUint;

use crate::format::{self, Pipeline};
use crate::graph::{Graph, Part, structure};
use crate::number::hexadecimal_bits;
use crate::tables::is_call;
use crate::{Reader, Result, constant, error};

/// A node of a control's graph.
enum Node<'j> {
    Table(usize, &'j format::Table),
    Conditional(usize, &'j format::Conditional),
    Call(usize, &'j format::ActionCall),
}

/// What decides between the successors of a table.
enum Decision<'j> {
    /// There is only one.
    None,
    /// Hit, then miss.
    Hit,
    /// The action: the names for each successor but the last.
    Action(Vec<Vec<&'j str>>),
}

impl<'j> Reader<'j> {
    /// Reads ingress and egress.
    pub(crate) fn read_controls(&mut self) -> Result<()> {
        let json = self.json;
        for (at, pipeline) in json.pipelines.iter().enumerate() {
            let path = format!("pipelines[{at}]");
            if json.pipelines[..at].iter().any(|other| other.name == pipeline.name) {
                return error(&format!("{path}.name"), format!("another pipeline is called `{}`", pipeline.name));
            }
            let body = self.nested(|this| this.read_control(pipeline, &path))?;
            match pipeline.name.as_str() {
                "ingress" => self.p.ingress.body = body,
                "egress" => self.p.egress.body = body,
                other => {
                    let message = format!("expected `ingress` or `egress` of simple_switch, found `{other}`");
                    return error(&format!("{path}.name"), message);
                }
            }
        }
        Ok(())
    }

    fn read_control(&mut self, pipeline: &'j Pipeline, path: &str) -> Result<()> {
        let mut nodes = Vec::new();
        nodes.extend(pipeline.tables.iter().enumerate().map(|(at, table)| (&table.name, Node::Table(at, table))));
        let conditionals = pipeline.conditionals.iter().enumerate();
        nodes.extend(conditionals.map(|(at, node)| (&node.name, Node::Conditional(at, node))));
        let calls = pipeline.action_calls.iter().enumerate();
        nodes.extend(calls.map(|(at, node)| (&node.name, Node::Call(at, node))));
        let mut by_name = HashMap::new();
        for (at, (name, _)) in nodes.iter().enumerate() {
            if by_name.insert(name.as_str(), at).is_some() {
                return error(path, format!("two nodes are called `{name}`"));
            }
        }
        let target = |name: &Option<String>, path: String| match name.as_deref() {
            None => Ok(nodes.len()),
            Some(name) => match by_name.get(name) {
                Some(node) => Ok(*node),
                None => error(&path, format!("no table, conditional or action call is called `{name}`")),
            },
        };
        let entry = target(&pipeline.init_table, format!("{path}.init_table"))?;
        let mut successors = Vec::new();
        let mut decisions = Vec::new();
        for (_, node) in &nodes {
            let (next, decision) = match node {
                Node::Table(at, table) => self.table_edges(table, &format!("{path}.tables[{at}]"), &target)?,
                Node::Conditional(at, node) => {
                    let path = format!("{path}.conditionals[{at}]");
                    let yes = target(&node.true_next, format!("{path}.true_next"))?;
                    (vec![yes, target(&node.false_next, format!("{path}.false_next"))?], Decision::None)
                }
                Node::Call(at, node) => {
                    let path = format!("{path}.action_calls[{at}].next_node");
                    (vec![target(&node.next_node, path)?], Decision::None)
                }
            };
            successors.push(next);
            decisions.push(decision);
        }
        let Some(parts) = structure(&Graph { successors }, entry, &mut || self.label()) else {
            return error(path, "a loop of tables and conditionals with several entries");
        };
        let tables = self.tables_by_name().into_iter().collect();
        let nodes = nodes.into_iter().map(|(_, node)| node).collect();
        let control = Control { nodes, decisions, tables, path: path.to_string() };
        self.control_parts(&control, &parts)
    }

    /// The successors of a table, and what decides between them.
    fn table_edges(
        &self,
        table: &'j format::Table,
        path: &str,
        target: &dyn Fn(&Option<String>, String) -> Result<usize>,
    ) -> Result<(Vec<usize>, Decision<'j>)> {
        let base = target(&table.base_default_next, format!("{path}.base_default_next"))?;
        let next = |name: &str| match table.next_tables.get(name) {
            Some(next) => target(next, format!("{path}.next_tables[{name}]")),
            None => Ok(base),
        };
        if is_call(table) {
            let default = table.default_entry.as_ref().map_or(0, |entry| entry.action_id);
            let action = self.action_by_id(default, &format!("{path}.default_entry.action_id"))?;
            let name = self.json.actions[action].name.as_str();
            let name = if table.next_tables.contains_key("__MISS__") { "__MISS__" } else { name };
            return Ok((vec![next(name)?], Decision::None));
        }
        if ["__HIT__", "__MISS__"].iter().any(|name| table.next_tables.contains_key(*name)) {
            let (hit, miss) = (next("__HIT__")?, next("__MISS__")?);
            return Ok(if hit == miss { (vec![hit], Decision::None) } else { (vec![hit, miss], Decision::Hit) });
        }
        let mut groups: Vec<(usize, Vec<&str>)> = Vec::new();
        for name in table.next_tables.keys() {
            let to = next(name)?;
            if to == base {
                continue;
            }
            match groups.iter_mut().find(|(other, _)| *other == to) {
                Some((_, names)) => names.push(name),
                None => groups.push((to, vec![name])),
            }
        }
        // All actions may go to the same node, which is not the one that follows no action.
        let actions = self.actions_of(table, path)?;
        let all = |names: &[&str]| actions.iter().all(|at| names.contains(&self.json.actions[*at].name.as_str()));
        if let [(to, names)] = groups.as_slice()
            && all(names)
            && table.default_entry.is_some()
        {
            return Ok((vec![*to], Decision::None));
        }
        let (mut to, names): (Vec<usize>, Vec<Vec<&str>>) = groups.into_iter().unzip();
        to.push(base);
        Ok(if names.is_empty() { (to, Decision::None) } else { (to, Decision::Action(names)) })
    }

    fn control_parts(&mut self, control: &Control<'j>, parts: &[Part]) -> Result<()> {
        for part in parts {
            match part {
                Part::Node(at, branches) => self.control_node(control, *at, branches)?,
                Part::Scope(label, inner) => {
                    let body = self.nested(|this| this.control_parts(control, inner))?;
                    self.emit(StmtKind::Scope { label: *label, body });
                }
                Part::Loop(inner) => {
                    let body = self.nested(|this| this.control_parts(control, inner))?;
                    self.emit(StmtKind::Loop { body, bound: None });
                }
                Part::Leave(label) => self.emit(StmtKind::Leave(*label)),
            }
        }
        Ok(())
    }

    fn control_node(&mut self, control: &Control<'j>, at: usize, branches: &[Vec<Part>]) -> Result<()> {
        match &control.nodes[at] {
            Node::Table(index, table) => {
                let path = format!("{}.tables[{index}]", control.path);
                self.table_node(control, table, &control.decisions[at], branches, &path)
            }
            Node::Conditional(index, node) => {
                let path = format!("{}.conditionals[{index}].expression", control.path);
                let cond = self.condition(&node.expression, &path)?;
                let mut blocks = self.blocks(control, branches)?.into_iter();
                let (then, otherwise) = (blocks.next().unwrap_or_default(), blocks.next().unwrap_or_default());
                self.emit(StmtKind::If { cond, then, otherwise });
                Ok(())
            }
            Node::Call(index, node) => {
                let path = format!("{}.action_calls[{index}].action_id", control.path);
                let action = self.action_by_id(node.action_id, &path)?;
                self.action_body(action, Vec::new())
            }
        }
    }

    fn blocks(&mut self, control: &Control<'j>, branches: &[Vec<Part>]) -> Result<Vec<Block>> {
        branches.iter().map(|parts| self.nested(|this| this.control_parts(control, parts))).collect()
    }

    fn table_node(
        &mut self,
        control: &Control<'j>,
        table: &'j format::Table,
        decision: &Decision<'j>,
        branches: &[Vec<Part>],
        path: &str,
    ) -> Result<()> {
        if is_call(table)
            && let Some(entry) = &table.default_entry
        {
            return self.call_node(entry, &format!("{path}.default_entry"));
        }
        let Some(id) = control.tables.get(table.name.as_str()).copied() else {
            return error(path, "no such table");
        };
        let measured = self.measured(table, path)?;
        for action in self.actions_of(table, path)? {
            if let Some(choice) = self.choose_body(action, measured) {
                self.emit(choice);
            }
        }
        let hit = matches!(decision, Decision::Hit).then(|| self.temporary(Type::Bool));
        let action_run = matches!(decision, Decision::Action(_)).then(|| self.temporary(Type::Bits(32)));
        self.emit(StmtKind::Apply { table: id, hit, action_run });
        let mut blocks = self.blocks(control, branches)?;
        if let Some(hit) = hit {
            let mut blocks = blocks.drain(..);
            let (then, otherwise) = (blocks.next().unwrap_or_default(), blocks.next().unwrap_or_default());
            let cond = self.slot_expr(hit);
            self.emit(StmtKind::If { cond, then, otherwise });
        } else if let (Some(slot), Decision::Action(names)) = (action_run, decision) {
            let default = blocks.pop().unwrap_or_default();
            let ids = |names: &Vec<&str>| self.ids_of_names(names);
            let cases = names.iter().map(ids).zip(blocks).filter(|(ids, _)| !ids.is_empty()).collect();
            let value = self.slot_expr(slot);
            self.emit(StmtKind::Switch { value, cases, default });
        }
        Ok(())
    }

    /// The numbers of the pipeline's actions with these names.
    fn ids_of_names(&self, names: &[&str]) -> Vec<BigUint> {
        let ids = self.p.actions.iter().enumerate().filter(|(_, action)| names.contains(&action.name.as_str()));
        ids.map(|(at, _)| BigUint::from(at)).collect()
    }

    /// The body of the action that a table without keys always runs.
    fn call_node(&mut self, entry: &format::DefaultEntry, path: &str) -> Result<()> {
        let at = self.action_by_id(entry.action_id, &format!("{path}.action_id"))?;
        let params = &self.json.actions[at].runtime_data;
        if params.len() != entry.action_data.len() {
            return error(&format!("{path}.action_data"), format!("the action has {} parameters", params.len()));
        }
        let mut data: Vec<Expr> = Vec::new();
        for (index, (param, value)) in params.iter().zip(&entry.action_data).enumerate() {
            let width = param.bitwidth.clamp(1, 1 << 16);
            data.push(constant(hexadecimal_bits(value, width, &format!("{path}.action_data[{index}]"))?, width));
        }
        self.action_body(at, data)
    }

    /// Reads the deparser.
    pub(crate) fn read_deparser(&mut self) -> Result<()> {
        let [deparser] = self.json.deparsers.as_slice() else {
            return error("deparsers", format!("expected one deparser, found {}", self.json.deparsers.len()));
        };
        let body = self.nested(|this| {
            for (at, call) in deparser.primitives.iter().enumerate() {
                this.primitive(call, &format!("deparsers[0].primitives[{at}]"))?;
            }
            for (at, header) in deparser.order.iter().enumerate() {
                let header = this.header(header, &format!("deparsers[0].order[{at}]"))?;
                this.emit(StmtKind::Emit(header));
            }
            Ok(())
        })?;
        self.p.deparser.body = body;
        Ok(())
    }
}

/// The graph of a control.
struct Control<'j> {
    nodes: Vec<Node<'j>>,
    decisions: Vec<Decision<'j>>,
    tables: HashMap<String, TableId>,
    path: String,
}
