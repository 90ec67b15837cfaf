//! Changes of a packet on its way out, as the program's actions that rewrite packets.
//!
//! One action of the program makes the changes of [`Rewrite`]. A list of actions that needs more than one is a sequence of them.

use crate::codec::action::settable;
use crate::codec::field::TAG_PRESENT;
use crate::codec::{Action, Field};

/// Arguments of the program's actions that rewrite packets.
#[derive(Clone, Copy, Debug)]
enum Argument {
    Type,
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
    Label,
    Bos,
    Isid,
    TunnelId,
    Queue,
    Proto,
    NdTarget,
}

const ARGUMENTS: usize = Argument::NdTarget as usize + 1;

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

/// Bits of the argument `what` of `set_mpls`, which has those of Ethernet addresses, too.
mod mpls {
    pub(super) const POP: u32 = 1 << 0;
    pub(super) const PUSH: u32 = 1 << 1;
    pub(super) const LABEL: u32 = 1 << 2;
    pub(super) const TC: u32 = 1 << 3;
    pub(super) const BOS: u32 = 1 << 4;
    pub(super) const TTL: u32 = 1 << 7;
    pub(super) const DEC_TTL: u32 = 1 << 8;
    /// All of the label stack.
    pub(super) const STACK: u32 = POP | PUSH | LABEL | TC | BOS | TTL | DEC_TTL;
}

/// Bits of the argument `what` of `set_neighbour`.
mod neighbour {
    pub(super) const TARGET: u32 = 1 << 0;
    pub(super) const SLL: u32 = 1 << 1;
    pub(super) const TLL: u32 = 1 << 2;
}

/// Bits of the argument `what` of `set_sctp`.
mod sctp {
    pub(super) const SRC: u32 = 1 << 0;
    pub(super) const DST: u32 = 1 << 1;
}

/// An action of the program that rewrites packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Tags, and the fields of most packets.
    #[default]
    Set,
    Mpls,
    CopyTtlOut,
    CopyTtlIn,
    PushPbb,
    PopPbb,
    Isid,
    Tunnel,
    Queue,
    EthType,
    IpProto,
    Neighbour,
    Sctp,
}

impl Kind {
    pub(crate) const ALL: [Kind; 13] = {
        use Kind::*;
        [Set, Mpls, CopyTtlOut, CopyTtlIn, PushPbb, PopPbb, Isid, Tunnel, Queue, EthType, IpProto, Neighbour, Sctp]
    };

    /// Its name in the program, whether its first argument says what it does, and its other arguments.
    fn description(self) -> (&'static str, bool, &'static [Argument]) {
        use Argument as A;
        match self {
            Kind::Set => {
                const ALL: &[A] = &[
                    A::Type,
                    A::Vid,
                    A::Pcp,
                    A::EthSrc,
                    A::EthDst,
                    A::L3Src,
                    A::L3Dst,
                    A::Dscp,
                    A::Ecn,
                    A::Ttl,
                    A::L4Src,
                    A::L4Dst,
                    A::LinkSrc,
                    A::LinkDst,
                    A::Label,
                ];
                ("set", true, ALL)
            }
            Kind::Mpls => ("set_mpls", true, &[A::Type, A::Label, A::Pcp, A::Bos, A::Ttl, A::EthSrc, A::EthDst]),
            Kind::CopyTtlOut => ("copy_ttl_out", false, &[]),
            Kind::CopyTtlIn => ("copy_ttl_in", false, &[]),
            Kind::PushPbb => ("push_pbb", false, &[]),
            Kind::PopPbb => ("pop_pbb", false, &[]),
            Kind::Isid => ("set_pbb", false, &[A::Isid]),
            Kind::Tunnel => ("set_tunnel", false, &[A::TunnelId]),
            Kind::Queue => ("set_queue", false, &[A::Queue]),
            Kind::EthType => ("set_eth_type", false, &[A::Type]),
            Kind::IpProto => ("set_ip_proto", false, &[A::Proto]),
            Kind::Neighbour => ("set_neighbour", true, &[A::NdTarget, A::LinkSrc, A::LinkDst]),
            Kind::Sctp => ("set_sctp", true, &[A::L4Src, A::L4Dst]),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        self.description().0
    }
}

/// What one pass changes in a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Rewrite {
    pub kind: Kind,
    what: u32,
    arguments: [u128; ARGUMENTS],
}

impl Rewrite {
    pub(crate) fn is_empty(&self) -> bool {
        self.kind == Kind::Set && self.what == 0
    }

    /// The arguments of the program's action.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = u128> {
        let (_, has_what, arguments) = self.kind.description();
        let what = has_what.then_some(u128::from(self.what));
        what.into_iter().chain(arguments.iter().map(|argument| self.arguments[*argument as usize]))
    }
}

/// Where a list of actions stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rewrites {
    /// What came before the current rewrite.
    pub done: Vec<Rewrite>,
    pub current: Rewrite,
}

impl Rewrites {
    /// The current rewrite is complete.
    fn next(&mut self) {
        self.done.push(std::mem::take(&mut self.current));
    }

    fn has(&self, bits: u32) -> bool {
        self.current.what & bits != 0
    }

    /// Goes on in a rewrite of this kind.
    fn begin(&mut self, kind: Kind) {
        const ETHERNET: u32 = bit::ETH_SRC | bit::ETH_DST;
        if self.current.kind == kind {
            return;
        }
        // Both of them set Ethernet addresses.
        let goes_on = self.current.kind == Kind::Set && kind == Kind::Mpls && !self.has(!ETHERNET);
        if !goes_on && !self.current.is_empty() {
            self.next();
        }
        self.current.kind = kind;
    }

    /// A rewrite that does only one thing.
    fn only(&mut self, kind: Kind, argument: Option<(Argument, u128)>) {
        if !self.current.is_empty() {
            self.next();
        }
        self.current.kind = kind;
        if let Some((argument, value)) = argument {
            self.current.arguments[argument as usize] = value;
        }
    }

    fn put(&mut self, kind: Kind, bit: u32, argument: Argument, value: u128) {
        self.begin(kind);
        self.current.what |= bit;
        self.current.arguments[argument as usize] = value;
    }

    fn set(&mut self, bit: u32, argument: Argument, value: u128) {
        self.put(Kind::Set, bit, argument, value);
    }

    /// Sets a field of one of several protocols. `kind`: the bits of `of` that say which protocol's field it is.
    fn set_of(&mut self, bit: u32, argument: Argument, value: u128, of: u32, kind: u32) {
        self.begin(Kind::Set);
        // Fields of two protocols that have the same argument are set one after the other.
        let same = if of == bit::OF_ICMP { bit::L4 } else { bit::L3 | bit::L4 | bit::LINK_SRC | bit::LINK_DST };
        if self.has(same) && self.current.what & of != kind {
            self.next();
        }
        self.set(bit | kind, argument, value);
    }

    fn set_ethernet(&mut self, bit: u32, argument: Argument, value: u128) {
        let kind = if self.current.kind == Kind::Mpls { Kind::Mpls } else { Kind::Set };
        self.put(kind, bit, argument, value);
    }

    fn tag(&mut self, bit: u32, argument: Argument, value: u128) {
        self.begin(Kind::Set);
        if !self.has(bit::PUSH) {
            self.set(bit::TAG, Argument::Type, 0x8100);
        }
        self.set(bit, argument, value);
    }

    /// Pushes or pops an entry of the label stack: the first thing that `set_mpls` does.
    fn change_stack(&mut self, bit: u32, ether_type: u16) {
        if self.current.kind == Kind::Mpls && self.has(mpls::STACK) {
            self.next();
        }
        self.put(Kind::Mpls, bit, Argument::Type, ether_type.into());
    }

    /// Adds an action that changes the packet; others do nothing.
    pub(crate) fn apply(&mut self, action: Action) {
        use Argument as A;
        match action {
            Action::PopVlan => {
                self.begin(Kind::Set);
                if self.has(bit::POP | bit::PUSH | bit::TAG) {
                    self.next();
                }
                self.current.what = self.current.what & !(bit::VID | bit::PCP) | bit::POP;
            }
            Action::PushVlan(tpid) => {
                self.begin(Kind::Set);
                if self.has(bit::PUSH | bit::TAG | bit::VID | bit::PCP) {
                    self.next();
                }
                self.set(bit::PUSH, A::Type, tpid.into());
            }
            Action::TagVid(vid) => self.tag(bit::VID, A::Vid, vid.into()),
            Action::TagPcp(pcp) => self.tag(bit::PCP, A::Pcp, pcp.into()),
            Action::SetTtl(ttl) => {
                self.begin(Kind::Set);
                if self.has(bit::DEC_TTL) {
                    self.next();
                }
                self.set(bit::TTL, A::Ttl, ttl.into());
            }
            Action::DecTtl => {
                self.begin(Kind::Set);
                if self.has(bit::DEC_TTL) {
                    self.next();
                }
                self.current.what |= bit::DEC_TTL;
            }
            Action::PortSrc(port) => self.set_of(bit::L4_SRC, A::L4Src, port.into(), bit::OF_ICMP | bit::OF_ARP, 0),
            Action::PortDst(port) => self.set_of(bit::L4_DST, A::L4Dst, port.into(), bit::OF_ICMP | bit::OF_ARP, 0),
            Action::PushMpls(ether_type) => self.change_stack(mpls::PUSH, ether_type),
            Action::PopMpls(ether_type) => self.change_stack(mpls::POP, ether_type),
            Action::SetMplsTtl(ttl) => {
                self.begin(Kind::Mpls);
                if self.has(mpls::DEC_TTL) {
                    self.next();
                }
                self.put(Kind::Mpls, mpls::TTL, A::Ttl, ttl.into());
            }
            Action::DecMplsTtl => {
                self.begin(Kind::Mpls);
                if self.has(mpls::DEC_TTL | mpls::PUSH) {
                    self.next();
                    self.begin(Kind::Mpls);
                }
                self.current.what |= mpls::DEC_TTL;
            }
            Action::CopyTtlOut => self.only(Kind::CopyTtlOut, None),
            Action::CopyTtlIn => self.only(Kind::CopyTtlIn, None),
            Action::PushPbb => self.only(Kind::PushPbb, None),
            Action::PopPbb => self.only(Kind::PopPbb, None),
            // The queue is chosen when a pass begins.
            Action::SetQueue(queue) => {
                self.only(Kind::Queue, Some((A::Queue, queue.into())));
                self.next();
            }
            Action::Set(field, value) => self.set_field(field, value),
            Action::Output { .. } | Action::Enqueue { .. } | Action::Group(_) => {}
        }
    }

    fn set_field(&mut self, field: Field, value: u128) {
        use Argument as A;
        const FAMILY: u32 = bit::OF_ARP | bit::OF_IPV6;
        const TRANSPORT: u32 = bit::OF_ICMP | bit::OF_ARP;
        match field {
            Field::VlanVid => self.set(bit::VID, A::Vid, value & !TAG_PRESENT),
            Field::VlanPcp => self.set(bit::PCP, A::Pcp, value),
            Field::EthSrc => self.set_ethernet(bit::ETH_SRC, A::EthSrc, value),
            Field::EthDst => self.set_ethernet(bit::ETH_DST, A::EthDst, value),
            Field::IpDscp => self.set(bit::DSCP, A::Dscp, value),
            Field::IpEcn => self.set(bit::ECN, A::Ecn, value),
            Field::Ipv4Src => self.set_of(bit::L3_SRC, A::L3Src, value, FAMILY, 0),
            Field::Ipv4Dst => self.set_of(bit::L3_DST, A::L3Dst, value, FAMILY, 0),
            Field::Ipv6Src => self.set_of(bit::L3_SRC, A::L3Src, value, FAMILY, bit::OF_IPV6),
            Field::Ipv6Dst => self.set_of(bit::L3_DST, A::L3Dst, value, FAMILY, bit::OF_IPV6),
            Field::Ipv6FlowLabel => self.set(bit::LABEL, A::Label, value),
            Field::ArpOp => self.set_of(bit::L4_SRC, A::L4Src, value, FAMILY, bit::OF_ARP),
            Field::ArpSpa => self.set_of(bit::L3_SRC, A::L3Src, value, FAMILY, bit::OF_ARP),
            Field::ArpTpa => self.set_of(bit::L3_DST, A::L3Dst, value, FAMILY, bit::OF_ARP),
            Field::ArpSha => self.set_of(bit::LINK_SRC, A::LinkSrc, value, FAMILY, bit::OF_ARP),
            Field::ArpTha => self.set_of(bit::LINK_DST, A::LinkDst, value, FAMILY, bit::OF_ARP),
            Field::TcpSrc | Field::UdpSrc => self.set_of(bit::L4_SRC, A::L4Src, value, TRANSPORT, 0),
            Field::TcpDst | Field::UdpDst => self.set_of(bit::L4_DST, A::L4Dst, value, TRANSPORT, 0),
            Field::Icmpv4Type | Field::Icmpv6Type => {
                self.set_of(bit::L4_SRC, A::L4Src, value, bit::OF_ICMP, bit::OF_ICMP);
            }
            Field::Icmpv4Code | Field::Icmpv6Code => {
                self.set_of(bit::L4_DST, A::L4Dst, value, bit::OF_ICMP, bit::OF_ICMP);
            }
            Field::MplsLabel => self.put(Kind::Mpls, mpls::LABEL, A::Label, value),
            Field::MplsTc => self.put(Kind::Mpls, mpls::TC, A::Pcp, value),
            Field::MplsBos => self.put(Kind::Mpls, mpls::BOS, A::Bos, value),
            Field::PbbIsid => self.only(Kind::Isid, Some((A::Isid, value))),
            Field::TunnelId => self.only(Kind::Tunnel, Some((A::TunnelId, value))),
            Field::EthType => self.only(Kind::EthType, Some((A::Type, value))),
            Field::IpProto => self.only(Kind::IpProto, Some((A::Proto, value))),
            Field::NdTarget => self.put(Kind::Neighbour, neighbour::TARGET, A::NdTarget, value),
            Field::NdSll => self.put(Kind::Neighbour, neighbour::SLL, A::LinkSrc, value),
            Field::NdTll => self.put(Kind::Neighbour, neighbour::TLL, A::LinkDst, value),
            Field::SctpSrc => self.put(Kind::Sctp, sctp::SRC, A::L4Src, value),
            Field::SctpDst => self.put(Kind::Sctp, sctp::DST, A::L4Dst, value),
            // The codec refuses others.
            _ => debug_assert!(!settable(field)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrites(actions: &[Action]) -> Vec<Rewrite> {
        let mut list = Rewrites::default();
        actions.iter().for_each(|action| list.apply(*action));
        list.done.push(list.current);
        list.done
    }

    fn kinds(actions: &[Action]) -> Vec<(Kind, u32)> {
        rewrites(actions).iter().map(|rewrite| (rewrite.kind, rewrite.what)).collect()
    }

    #[test]
    fn what_is_set_is_an_argument() {
        let [one] = &rewrites(&[Action::Set(Field::EthSrc, 5)])[..] else { panic!("more than one") };
        assert_eq!(one.what, bit::ETH_SRC);
        assert_eq!(one.arguments[Argument::EthSrc as usize], 5);
        assert_eq!(one.arguments().count(), 16);
    }

    #[test]
    fn what_is_set_in_a_tag_that_is_popped_does_not_matter() {
        assert_eq!(kinds(&[Action::Set(Field::VlanVid, 0x1005), Action::PopVlan]), [(Kind::Set, bit::POP)]);
    }

    #[test]
    fn addresses_of_two_protocols_are_set_one_after_the_other() {
        assert_eq!(kinds(&[Action::Set(Field::Ipv4Src, 1), Action::Set(Field::ArpSpa, 2)]).len(), 2);
        assert_eq!(kinds(&[Action::Set(Field::ArpOp, 2), Action::Set(Field::ArpSpa, 2)]).len(), 1);
    }

    #[test]
    fn a_label_is_pushed_with_its_fields_and_ethernet_addresses_in_one_pass() {
        let actions = [
            Action::Set(Field::EthDst, 7),
            Action::PushMpls(0x8847),
            Action::Set(Field::MplsLabel, 100),
            Action::SetMplsTtl(9),
            Action::Set(Field::EthSrc, 6),
        ];
        let what = mpls::PUSH | mpls::LABEL | mpls::TTL | bit::ETH_DST | bit::ETH_SRC;
        assert_eq!(kinds(&actions), [(Kind::Mpls, what)]);
    }

    #[test]
    fn each_further_label_takes_a_pass_and_so_does_the_packet_below() {
        let push = Action::PushMpls(0x8847);
        assert_eq!(kinds(&[push, push]).len(), 2);
        assert_eq!(kinds(&[Action::PopMpls(0x800), push]).len(), 2);
        assert_eq!(kinds(&[push, Action::DecMplsTtl]), [(Kind::Mpls, mpls::PUSH), (Kind::Mpls, mpls::DEC_TTL)]);
        assert_eq!(
            kinds(&[Action::PopMpls(0x800), Action::DecTtl]),
            [(Kind::Mpls, mpls::POP), (Kind::Set, bit::DEC_TTL)]
        );
    }

    #[test]
    fn what_is_done_alone_is_done_in_order() {
        let actions = [Action::PushPbb, Action::PushPbb, Action::Set(Field::PbbIsid, 1), Action::Set(Field::EthSrc, 1)];
        let wanted = [(Kind::PushPbb, 0), (Kind::PushPbb, 0), (Kind::Isid, 0), (Kind::Set, bit::ETH_SRC)];
        assert_eq!(kinds(&actions), wanted);
    }
}
