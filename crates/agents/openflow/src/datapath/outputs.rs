//! Lists of actions as outputs: where copies of a packet go, each with what is rewritten on its way.
//!
//! One output rewrites once. A list that needs more is continued by a further pass of the packet through the program.

use super::rewrite::{Rewrite, Rewrites};
use crate::codec::field::{PBB, TAG_PRESENT};
use crate::codec::request::Bucket;
use crate::codec::{Action, Field, Instructions, Match, Refusal, Version, port};

/// Ports of the program with a meaning of their own; see `p4/router/openflow.p4`.
pub(crate) const CPU: u16 = 510;
pub(crate) const AGAIN: u16 = 509;
pub(crate) const IN_PORT: u16 = 508;
/// The tables that flows may lie in.
pub(crate) const TABLES: u8 = 32;
/// Egress queues of a port: v1model's priorities.
pub(crate) const QUEUES: u32 = 8;
/// Actions of a flow, or of all buckets of a group.
pub(crate) const MAX_ACTIONS: usize = 512;

/// What the pass after an output does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Again {
    /// Matches the flows of a table.
    Table(u8),
    /// Chooses a bucket of a group.
    Select(u32),
    /// Has one further output.
    Output(Box<Output>),
    /// Forwards as a bridge that learns addresses.
    Normal,
}

/// What happens to a copy of a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    pub rewrite: Rewrite,
    /// For copies that go to [`AGAIN`].
    pub again: Option<Again>,
}

/// A copy of a packet: a port of the program, and what happens on the way there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Output {
    pub port: u16,
    pub step: Step,
}

/// What else outputs depend on.
pub(crate) trait Surroundings {
    /// The ports that packets are flooded to, or all of them.
    fn ports(&self, flood: bool) -> Vec<u16>;
    /// A group: its number for a select group, the buckets of another one.
    fn group(&self, group: u32) -> Option<GroupActions<'_>>;
}

/// How packets go through a group.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GroupActions<'a> {
    /// One bucket is chosen by the program.
    Select,
    /// Each bucket gets a copy.
    All(&'a [Bucket]),
}

/// A copy of the packet after these rewrites.
fn output(rewrites: &Rewrites, port: u16, again: Option<Again>) -> Output {
    let last = Output { port, step: Step { rewrite: rewrites.current.clone(), again } };
    rewrites.done.iter().rev().fold(last, |next, rewrite| Output {
        port: AGAIN,
        step: Step { rewrite: rewrite.clone(), again: Some(Again::Output(Box::new(next))) },
    })
}

/// Actions of a list with those of the groups that it leads to.
const MAX_STEPS: usize = 16 * MAX_ACTIONS;

/// Checks that actions of 1.3 fit the packets that a flow is for, and that there are not too many.
fn check(actions: &[Action], matching: &Match) -> Result<(), Refusal> {
    let mut tag = matching.value(Field::VlanVid);
    let mut eth_type = matching.value(Field::EthType);
    let mut proto = matching.value(Field::IpProto);
    for action in actions {
        let value_of = |field: Field| match field {
            Field::VlanVid => tag,
            Field::EthType => eth_type,
            Field::IpProto => proto,
            _ => matching.value(field),
        };
        let required = |field: Field| field.check_required(value_of, Refusal::ACTION_INCONSISTENT);
        match *action {
            Action::PushVlan(_) => tag = Some(TAG_PRESENT),
            Action::PopVlan => {
                required(Field::VlanPcp)?;
                tag = None;
            }
            Action::Set(Field::VlanVid, vid) => {
                required(Field::VlanPcp)?;
                tag = Some(vid);
            }
            Action::Set(Field::EthType, value) => eth_type = Some(value),
            Action::Set(field, value) => {
                required(field)?;
                if field == Field::IpProto {
                    proto = Some(value);
                }
            }
            Action::SetTtl(_) | Action::DecTtl => required(Field::IpDscp)?,
            Action::SetMplsTtl(_) | Action::DecMplsTtl | Action::CopyTtlOut | Action::CopyTtlIn => {
                required(Field::MplsLabel)?;
            }
            Action::PushMpls(kind) => eth_type = Some(kind.into()),
            Action::PopMpls(kind) => {
                required(Field::MplsLabel)?;
                eth_type = Some(kind.into());
            }
            Action::PushPbb => (eth_type, tag) = (Some(PBB.into()), None),
            // Nothing is known of the customer's frame.
            Action::PopPbb => {
                required(Field::PbbIsid)?;
                (eth_type, tag) = (None, None);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The actions of an action set in the order in which they are done (section 5.10).
fn in_order(set: &[Action]) -> Vec<Action> {
    let rank = |action: &Action| match action {
        Action::CopyTtlIn => 0,
        Action::PopVlan | Action::PopMpls(_) | Action::PopPbb => 1,
        Action::PushMpls(_) => 2,
        Action::PushPbb => 3,
        Action::PushVlan(_) => 4,
        Action::CopyTtlOut => 5,
        Action::DecTtl | Action::DecMplsTtl => 6,
        Action::SetQueue(_) => 8,
        Action::Group(_) => 9,
        Action::Output { .. } | Action::Enqueue { .. } => 10,
        _ => 7,
    };
    // Of each type, and of each field, the last counts.
    let same = |a: &Action, b: &Action| match (a, b) {
        (Action::Set(one, _), Action::Set(other, _)) => one == other,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    };
    let last =
        |(at, action): (usize, &Action)| (!set[at + 1..].iter().any(|later| same(action, later))).then_some(*action);
    let mut actions: Vec<Action> = set.iter().enumerate().filter_map(last).collect();
    actions.sort_by_key(rank);
    // A group has precedence over an output.
    if actions.iter().any(|action| matches!(action, Action::Group(_))) {
        actions.retain(|action| !matches!(action, Action::Output { .. }));
    }
    actions
}

/// Outputs of a flow.
pub(crate) fn of_flow(
    table: u8,
    matching: &Match,
    instructions: &Instructions,
    version: Version,
    around: &dyn Surroundings,
) -> Result<Vec<Output>, Refusal> {
    if let Some(goto) = instructions.goto {
        if goto <= table || goto >= TABLES {
            return Err(Refusal::INSTRUCTION_TABLE);
        }
        // An action set that another table's flow is to carry out.
        if instructions.write.as_ref().is_some_and(|set| !set.is_empty()) {
            return Err(Refusal::INSTRUCTION_UNSUPPORTED);
        }
    }
    let mut actions = instructions.apply.clone();
    actions.extend(in_order(instructions.write.as_deref().unwrap_or_default()));
    if version == Version::V13 {
        check(&actions, matching)?;
    }
    let goto = instructions.goto.map(Again::Table);
    of_actions(&actions, goto, false, around)
}

/// Outputs of a list of actions, with a last one that goes on. `packet_out`: packets may go to the tables.
pub(crate) fn of_actions(
    actions: &[Action],
    last: Option<Again>,
    packet_out: bool,
    around: &dyn Surroundings,
) -> Result<Vec<Output>, Refusal> {
    if actions.len() > MAX_ACTIONS {
        return Err(Refusal::ACTION_TOO_MANY);
    }
    let mut list = List { around, packet_out, left: MAX_STEPS, outputs: Vec::new() };
    let mut state = Rewrites::default();
    list.actions(actions, &mut state)?;
    let List { mut outputs, .. } = list;
    if last.is_some() {
        outputs.push(output(&state, AGAIN, last));
    }
    if outputs.len() > 4 * MAX_ACTIONS {
        return Err(Refusal::ACTION_TOO_MANY);
    }
    // A replica cannot be sent where its packet came in, but a packet can.
    if outputs.len() > 1 {
        for output in outputs.iter_mut().filter(|output| output.port == IN_PORT) {
            let inner = Output { port: IN_PORT, step: std::mem::take(&mut output.step) };
            *output = Output {
                port: AGAIN,
                step: Step { rewrite: Rewrite::default(), again: Some(Again::Output(Box::new(inner))) },
            };
        }
    }
    Ok(outputs)
}

/// A list of actions on its way to outputs.
struct List<'a> {
    around: &'a dyn Surroundings,
    packet_out: bool,
    /// Actions that it may still have, with those of its groups.
    left: usize,
    outputs: Vec<Output>,
}

impl List<'_> {
    fn actions(&mut self, actions: &[Action], state: &mut Rewrites) -> Result<(), Refusal> {
        self.left = self.left.checked_sub(actions.len() + 1).ok_or(Refusal::ACTION_TOO_MANY)?;
        for action in actions {
            match *action {
                Action::Output { port, .. } => self.output_to(port, state)?,
                Action::Enqueue { port, queue } => {
                    if port != port::IN_PORT && port >= IN_PORT_NUMBER {
                        return Err(Refusal::ACTION_PORT);
                    }
                    let mut queued = state.clone();
                    queued.apply(known_queue(queue)?);
                    self.output_to(port, &queued)?;
                }
                Action::SetQueue(queue) => state.apply(known_queue(queue)?),
                Action::Group(group) => match self.around.group(group) {
                    None => return Err(Refusal::ACTION_GROUP),
                    Some(GroupActions::Select) => self.outputs.push(output(state, AGAIN, Some(Again::Select(group)))),
                    Some(GroupActions::All(buckets)) => {
                        buckets.iter().try_for_each(|bucket| self.actions(&bucket.actions, &mut state.clone()))?;
                    }
                },
                other => state.apply(other),
            }
        }
        Ok(())
    }

    fn output_to(&mut self, port: u32, state: &Rewrites) -> Result<(), Refusal> {
        let outputs = &mut self.outputs;
        match port {
            port::IN_PORT => outputs.push(output(state, IN_PORT, None)),
            port::TABLE if self.packet_out => outputs.push(output(state, AGAIN, Some(Again::Table(0)))),
            port::NORMAL => outputs.push(output(state, AGAIN, Some(Again::Normal))),
            port::FLOOD | port::ALL => {
                let ports = self.around.ports(port == port::FLOOD);
                outputs.extend(ports.into_iter().map(|port| output(state, port, None)));
            }
            port::CONTROLLER => outputs.push(output(state, CPU, None)),
            1..IN_PORT_NUMBER => outputs.push(output(state, port as u16, None)),
            _ => return Err(Refusal::ACTION_PORT),
        }
        Ok(())
    }
}

/// Every port has the queues of the program's priorities.
fn known_queue(queue: u32) -> Result<Action, Refusal> {
    if queue < QUEUES { Ok(Action::SetQueue(queue)) } else { Err(Refusal::ACTION_QUEUE) }
}

const IN_PORT_NUMBER: u32 = IN_PORT as u32;

#[cfg(test)]
mod tests {
    use super::*;

    struct Alone;

    impl Surroundings for Alone {
        fn ports(&self, flood: bool) -> Vec<u16> {
            if flood { vec![1, 2] } else { vec![1, 2, 3] }
        }

        fn group(&self, _: u32) -> Option<GroupActions<'_>> {
            None
        }
    }

    fn output(port: u32) -> Action {
        Action::Output { port, max_len: 0 }
    }

    fn outputs(actions: &[Action]) -> Vec<Output> {
        of_actions(actions, None, false, &Alone).unwrap()
    }

    #[test]
    fn each_output_has_what_was_set_before_it() {
        let set = Action::Set(Field::EthSrc, 5);
        let found = outputs(&[output(1), set, output(2)]);
        assert_eq!(found[0], Output { port: 1, step: Step::default() });
        assert_eq!(found[1].port, 2);
        assert!(found[1].step.rewrite.arguments().any(|argument| argument == 5));
    }

    #[test]
    fn two_tags_take_two_passes() {
        let push = Action::PushVlan(0x8100);
        let found =
            outputs(&[push, Action::Set(Field::VlanVid, 0x1005), push, Action::Set(Field::VlanVid, 0x1006), output(1)]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].port, AGAIN);
        let Some(Again::Output(second)) = &found[0].step.again else { panic!("{found:?}") };
        assert_eq!(second.port, 1);
        assert!(second.step.rewrite.arguments().any(|argument| argument == 6));
    }

    #[test]
    fn among_several_outputs_the_ingress_port_takes_a_pass_of_its_own() {
        assert_eq!(outputs(&[output(port::IN_PORT)])[0].port, IN_PORT);
        let found = outputs(&[output(port::IN_PORT), output(1)]);
        assert_eq!(found[0].port, AGAIN);
        assert_eq!(outputs(&[output(port::FLOOD)]).len(), 2);
    }

    #[test]
    fn an_action_set_has_an_order() {
        let set =
            [output(1), Action::Set(Field::VlanVid, 0x1001), Action::PushVlan(0x8100), output(2), Action::PopVlan];
        let wanted = [Action::PopVlan, Action::PushVlan(0x8100), Action::Set(Field::VlanVid, 0x1001), output(2)];
        assert_eq!(in_order(&set), wanted);
    }

    #[test]
    fn ports_that_there_cannot_be_are_refused() {
        for port in [0, 508, 509, 510, 511, 100_000, port::LOCAL, port::ANY, port::TABLE, 0xffff_ff00] {
            assert_eq!(of_actions(&[output(port)], None, false, &Alone), Err(Refusal::ACTION_PORT), "{port:#x}");
        }
    }
}
