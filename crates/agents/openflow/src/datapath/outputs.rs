//! Lists of actions as outputs: where copies of a packet go, each with what is rewritten on its way.
//!
//! One output rewrites once: a tag is popped, a tag is pushed, then fields are set. A list that needs more is continued by a
//! further pass of the packet through the program.

use crate::codec::action::settable;
use crate::codec::field::TAG_PRESENT;
use crate::codec::request::Bucket;
use crate::codec::{Action, Field, Instructions, Match, Refusal, Version, port};

/// Ports of the program with a meaning of their own; see `p4/router/openflow.p4`.
pub(crate) const CPU: u16 = 510;
pub(crate) const AGAIN: u16 = 509;
pub(crate) const IN_PORT: u16 = 508;
/// The tables that flows may lie in.
pub(crate) const TABLES: u8 = 32;
/// Actions of a flow, or of all buckets of a group.
pub(crate) const MAX_ACTIONS: usize = 512;

/// Arguments of the program's action `set`, in its order, after the bits.
#[derive(Clone, Copy, Debug)]
enum Argument {
    Tpid,
    Vid,
    Pcp,
    EthSrc,
    EthDst,
    L3Src,
    L3Dst,
    Dscp,
    Ecn,
    Ttl,
    L4Src,
    L4Dst,
    LinkSrc,
    LinkDst,
    FlowLabel,
}

pub(crate) const ARGUMENTS: usize = Argument::FlowLabel as usize + 1;

/// Bits of the argument `what` of `set`.
mod bit {
    pub(super) const POP: u32 = 1 << 0;
    pub(super) const PUSH: u32 = 1 << 1;
    pub(super) const TAG: u32 = 1 << 2;
    pub(super) const VID: u32 = 1 << 3;
    pub(super) const PCP: u32 = 1 << 4;
    pub(super) const ETH_SRC: u32 = 1 << 5;
    pub(super) const ETH_DST: u32 = 1 << 6;
    pub(super) const L3_SRC: u32 = 1 << 7;
    pub(super) const L3_DST: u32 = 1 << 8;
    pub(super) const DSCP: u32 = 1 << 9;
    pub(super) const ECN: u32 = 1 << 10;
    pub(super) const TTL: u32 = 1 << 11;
    pub(super) const DEC_TTL: u32 = 1 << 12;
    pub(super) const L4_SRC: u32 = 1 << 13;
    pub(super) const L4_DST: u32 = 1 << 14;
    pub(super) const LINK_SRC: u32 = 1 << 15;
    pub(super) const LINK_DST: u32 = 1 << 16;
    pub(super) const LABEL: u32 = 1 << 17;
    pub(super) const OF_ARP: u32 = 1 << 18;
    pub(super) const OF_IPV6: u32 = 1 << 19;
    pub(super) const OF_ICMP: u32 = 1 << 20;

    pub(super) const L3: u32 = L3_SRC | L3_DST;
    pub(super) const L4: u32 = L4_SRC | L4_DST;
}

/// What one output changes in a packet: the arguments of the program's action `set`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Rewrite {
    pub what: u32,
    pub arguments: [u128; ARGUMENTS],
}

/// What the pass after an output does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Again {
    /// Matches the flows of a table.
    Table(u8),
    /// Chooses a bucket of a group.
    Select(u32),
    /// Has one further output.
    Output(Box<Output>),
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

/// Where a list of actions stands.
#[derive(Clone, Debug, Default)]
struct State {
    /// What came before the current rewrite.
    done: Vec<Rewrite>,
    current: Rewrite,
}

impl State {
    /// The current rewrite is complete.
    fn next(&mut self) {
        self.done.push(std::mem::take(&mut self.current));
    }

    /// Sets an argument. `kind`: the bits of `of` that say which protocol's field it is.
    fn set(&mut self, bit: u32, argument: Argument, value: u128, of: u32, kind: u32) {
        // Fields of two protocols that have the same argument are set one after the other.
        let same = if of == bit::OF_ICMP { bit::L4 } else { bit::L3 | bit::L4 | bit::LINK_SRC | bit::LINK_DST };
        if of != 0 && self.current.what & same != 0 && self.current.what & of != kind {
            self.next();
        }
        self.current.what |= bit | kind;
        self.current.arguments[argument as usize] = value;
    }

    fn set_tag(&mut self, bit: u32, argument: Argument, value: u128) {
        self.set(bit, argument, value, 0, 0);
    }

    fn push(&mut self, tpid: u16, bit: u32) {
        self.current.what |= bit;
        self.current.arguments[Argument::Tpid as usize] = tpid.into();
    }

    fn apply(&mut self, action: Action) {
        use Argument as A;
        const FAMILY: u32 = bit::OF_ARP | bit::OF_IPV6;
        let has = |state: &State, bits: u32| state.current.what & bits != 0;
        match action {
            Action::PopVlan => {
                if has(self, bit::POP | bit::PUSH | bit::TAG) {
                    self.next();
                }
                self.current.what = self.current.what & !(bit::VID | bit::PCP) | bit::POP;
            }
            Action::PushVlan(tpid) => {
                if has(self, bit::PUSH | bit::TAG | bit::VID | bit::PCP) {
                    self.next();
                }
                self.push(tpid, bit::PUSH);
            }
            Action::TagVid(vid) => {
                if !has(self, bit::PUSH) {
                    self.push(0x8100, bit::TAG);
                }
                self.set_tag(bit::VID, A::Vid, vid.into());
            }
            Action::TagPcp(pcp) => {
                if !has(self, bit::PUSH) {
                    self.push(0x8100, bit::TAG);
                }
                self.set_tag(bit::PCP, A::Pcp, pcp.into());
            }
            Action::SetTtl(ttl) => {
                if has(self, bit::DEC_TTL) {
                    self.next();
                }
                self.set(bit::TTL, A::Ttl, ttl.into(), 0, 0);
            }
            Action::DecTtl => {
                if has(self, bit::DEC_TTL) {
                    self.next();
                }
                self.current.what |= bit::DEC_TTL;
            }
            Action::PortSrc(port) => self.set(bit::L4_SRC, A::L4Src, port.into(), bit::OF_ICMP | bit::OF_ARP, 0),
            Action::PortDst(port) => self.set(bit::L4_DST, A::L4Dst, port.into(), bit::OF_ICMP | bit::OF_ARP, 0),
            Action::Set(field, value) => match field {
                Field::VlanVid => self.set_tag(bit::VID, A::Vid, value & !TAG_PRESENT),
                Field::VlanPcp => self.set_tag(bit::PCP, A::Pcp, value),
                Field::EthSrc => self.set(bit::ETH_SRC, A::EthSrc, value, 0, 0),
                Field::EthDst => self.set(bit::ETH_DST, A::EthDst, value, 0, 0),
                Field::IpDscp => self.set(bit::DSCP, A::Dscp, value, 0, 0),
                Field::IpEcn => self.set(bit::ECN, A::Ecn, value, 0, 0),
                Field::Ipv4Src => self.set(bit::L3_SRC, A::L3Src, value, FAMILY, 0),
                Field::Ipv4Dst => self.set(bit::L3_DST, A::L3Dst, value, FAMILY, 0),
                Field::Ipv6Src => self.set(bit::L3_SRC, A::L3Src, value, FAMILY, bit::OF_IPV6),
                Field::Ipv6Dst => self.set(bit::L3_DST, A::L3Dst, value, FAMILY, bit::OF_IPV6),
                Field::Ipv6FlowLabel => self.set(bit::LABEL, A::FlowLabel, value, 0, 0),
                Field::ArpOp => self.set(bit::L4_SRC, A::L4Src, value, FAMILY, bit::OF_ARP),
                Field::ArpSpa => self.set(bit::L3_SRC, A::L3Src, value, FAMILY, bit::OF_ARP),
                Field::ArpTpa => self.set(bit::L3_DST, A::L3Dst, value, FAMILY, bit::OF_ARP),
                Field::ArpSha => self.set(bit::LINK_SRC, A::LinkSrc, value, FAMILY, bit::OF_ARP),
                Field::ArpTha => self.set(bit::LINK_DST, A::LinkDst, value, FAMILY, bit::OF_ARP),
                Field::TcpSrc | Field::UdpSrc => {
                    self.set(bit::L4_SRC, A::L4Src, value, bit::OF_ICMP | bit::OF_ARP, 0);
                }
                Field::TcpDst | Field::UdpDst => {
                    self.set(bit::L4_DST, A::L4Dst, value, bit::OF_ICMP | bit::OF_ARP, 0);
                }
                Field::Icmpv4Type | Field::Icmpv6Type => {
                    self.set(bit::L4_SRC, A::L4Src, value, bit::OF_ICMP, bit::OF_ICMP);
                }
                Field::Icmpv4Code | Field::Icmpv6Code => {
                    self.set(bit::L4_DST, A::L4Dst, value, bit::OF_ICMP, bit::OF_ICMP);
                }
                // The codec refuses others.
                _ => debug_assert!(!settable(field)),
            },
            Action::Output { .. } | Action::Group(_) => {}
        }
    }

    /// A copy of the packet as it is here.
    fn output(&self, port: u16, again: Option<Again>) -> Output {
        let last = Output { port, step: Step { rewrite: self.current.clone(), again } };
        self.done.iter().rev().fold(last, |next, rewrite| Output {
            port: AGAIN,
            step: Step { rewrite: rewrite.clone(), again: Some(Again::Output(Box::new(next))) },
        })
    }
}

/// Checks that actions of 1.3 fit the packets that a flow is for, and that there are not too many.
fn check(actions: &[Action], matching: &Match) -> Result<(), Refusal> {
    let mut tag = matching.value(Field::VlanVid);
    for action in actions {
        let value_of = |field: Field| if field == Field::VlanVid { tag } else { matching.value(field) };
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
            Action::Set(field, _) => required(field)?,
            Action::SetTtl(_) | Action::DecTtl => required(Field::IpDscp)?,
            _ => {}
        }
    }
    Ok(())
}

/// The actions of an action set in the order in which they are done (section 5.10).
fn in_order(set: &[Action]) -> Vec<Action> {
    let rank = |action: &Action| match action {
        Action::PopVlan => 0,
        Action::PushVlan(_) => 1,
        Action::DecTtl | Action::SetTtl(_) => 2,
        Action::Group(_) => 4,
        Action::Output { .. } => 5,
        _ => 3,
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
    let mut outputs = Vec::new();
    let mut state = State::default();
    list(actions, &mut state, packet_out, Some(around), around, &mut outputs)?;
    if last.is_some() {
        outputs.push(state.output(AGAIN, last));
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

/// `groups`: who knows groups, where they are allowed.
fn list(
    actions: &[Action],
    state: &mut State,
    packet_out: bool,
    groups: Option<&dyn Surroundings>,
    around: &dyn Surroundings,
    outputs: &mut Vec<Output>,
) -> Result<(), Refusal> {
    for action in actions {
        match *action {
            Action::Output { port, .. } => match port {
                port::IN_PORT => outputs.push(state.output(IN_PORT, None)),
                port::TABLE if packet_out => outputs.push(state.output(AGAIN, Some(Again::Table(0)))),
                port::FLOOD | port::ALL => {
                    let ports = around.ports(port == port::FLOOD);
                    outputs.extend(ports.into_iter().map(|port| state.output(port, None)));
                }
                port::CONTROLLER => outputs.push(state.output(CPU, None)),
                1..IN_PORT_NUMBER => outputs.push(state.output(port as u16, None)),
                _ => return Err(Refusal::ACTION_PORT),
            },
            Action::Group(group) => match groups.ok_or(Refusal::GROUP_CHAINING)?.group(group) {
                None => return Err(Refusal::ACTION_GROUP),
                Some(GroupActions::Select) => outputs.push(state.output(AGAIN, Some(Again::Select(group)))),
                Some(GroupActions::All(buckets)) => {
                    for bucket in buckets {
                        list(&bucket.actions, &mut state.clone(), false, None, around, outputs)?;
                    }
                }
            },
            other => state.apply(other),
        }
    }
    Ok(())
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
        assert_eq!(found[1].step.rewrite.what, bit::ETH_SRC);
        assert_eq!(found[1].step.rewrite.arguments[Argument::EthSrc as usize], 5);
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
        assert_eq!(second.step.rewrite.arguments[Argument::Vid as usize], 6);
    }

    #[test]
    fn what_is_set_in_a_tag_that_is_popped_does_not_matter() {
        let found = outputs(&[Action::Set(Field::VlanVid, 0x1005), Action::PopVlan, output(1)]);
        assert_eq!(found[0].step.rewrite.what, bit::POP);
    }

    #[test]
    fn addresses_of_two_protocols_are_set_one_after_the_other() {
        let found = outputs(&[Action::Set(Field::Ipv4Src, 1), Action::Set(Field::ArpSpa, 2), output(1)]);
        assert_eq!(found[0].port, AGAIN);
        let found = outputs(&[Action::Set(Field::ArpOp, 2), Action::Set(Field::ArpSpa, 2), output(1)]);
        assert_eq!(found[0].port, 1);
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
        for port in [0, 508, 509, 510, 511, 100_000, port::LOCAL, port::ANY, port::TABLE, 0xffff_fffa] {
            assert_eq!(of_actions(&[output(port)], None, false, &Alone), Err(Refusal::ACTION_PORT), "{port:#x}");
        }
    }
}
