//! Match fields of OpenFlow 1.3 (OXM, section 7.2.3.7), and the key of the program's flow tables that each becomes.

use super::Refusal;

/// Keys of the program's table `flows`, in its order, without the number of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum KeyField {
    InPort,
    TunnelHigh,
    Metadata,
    EthDst,
    EthSrc,
    EthType,
    Vlan,
    VlanPcp,
    Tos,
    IpProto,
    TunnelLow,
    L3Src,
    L3Dst,
    Label,
    L4Src,
    L4Dst,
    LinkSrc,
    LinkDst,
    NdTarget,
}

impl KeyField {
    pub(crate) const ALL: [KeyField; 19] = {
        use KeyField::*;
        [
            InPort, TunnelHigh, Metadata, EthDst, EthSrc, EthType, Vlan, VlanPcp, Tos, IpProto, TunnelLow, L3Src,
            L3Dst, Label, L4Src, L4Dst, LinkSrc, LinkDst, NdTarget,
        ]
    };
}

/// What else a match must say for a field to make sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Requires {
    Nothing,
    Tag,
    Ip,
    Ipv4,
    Ipv6,
    Arp,
    Proto(u8),
    /// ICMP over IPv4 or IPv6.
    Icmp(u8, u16),
    /// ICMPv6 of one of these types.
    Neighbour(u8, u8),
    Mpls,
    Pbb,
}

macro_rules! fields {
    ($($name:ident = $number:literal, $bytes:literal bytes, $bits:literal bits, $key:ident << $shift:literal, $mask:literal, $requires:expr;)*) => {
        /// A match field, by its number in class `OFPXMC_OPENFLOW_BASIC`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[repr(u8)]
        pub(crate) enum Field {
            $($name = $number,)*
        }

        impl Field {
            pub(crate) const ALL: &[Field] = &[$(Field::$name,)*];

            /// Bytes in a message, bits that count, the key and the place of the lowest bit in it, whether it may have a
            /// mask, and what it requires.
            const fn description(self) -> (usize, u32, KeyField, u32, bool, Requires) {
                match self {
                    $(Field::$name => ($bytes, $bits, KeyField::$key, $shift, $mask, $requires),)*
                }
            }
        }
    };
}

fields! {
    InPort = 0, 4 bytes, 32 bits, InPort << 0, false, Requires::Nothing;
    Metadata = 2, 8 bytes, 64 bits, Metadata << 0, true, Requires::Nothing;
    EthDst = 3, 6 bytes, 48 bits, EthDst << 0, true, Requires::Nothing;
    EthSrc = 4, 6 bytes, 48 bits, EthSrc << 0, true, Requires::Nothing;
    EthType = 5, 2 bytes, 16 bits, EthType << 0, false, Requires::Nothing;
    VlanVid = 6, 2 bytes, 13 bits, Vlan << 0, true, Requires::Nothing;
    VlanPcp = 7, 1 bytes, 3 bits, VlanPcp << 0, false, Requires::Tag;
    IpDscp = 8, 1 bytes, 6 bits, Tos << 2, false, Requires::Ip;
    IpEcn = 9, 1 bytes, 2 bits, Tos << 0, false, Requires::Ip;
    IpProto = 10, 1 bytes, 8 bits, IpProto << 0, false, Requires::Ip;
    Ipv4Src = 11, 4 bytes, 32 bits, L3Src << 0, true, Requires::Ipv4;
    Ipv4Dst = 12, 4 bytes, 32 bits, L3Dst << 0, true, Requires::Ipv4;
    TcpSrc = 13, 2 bytes, 16 bits, L4Src << 0, false, Requires::Proto(6);
    TcpDst = 14, 2 bytes, 16 bits, L4Dst << 0, false, Requires::Proto(6);
    UdpSrc = 15, 2 bytes, 16 bits, L4Src << 0, false, Requires::Proto(17);
    UdpDst = 16, 2 bytes, 16 bits, L4Dst << 0, false, Requires::Proto(17);
    SctpSrc = 17, 2 bytes, 16 bits, L4Src << 0, false, Requires::Proto(132);
    SctpDst = 18, 2 bytes, 16 bits, L4Dst << 0, false, Requires::Proto(132);
    Icmpv4Type = 19, 1 bytes, 8 bits, L4Src << 0, false, Requires::Icmp(1, IPV4);
    Icmpv4Code = 20, 1 bytes, 8 bits, L4Dst << 0, false, Requires::Icmp(1, IPV4);
    ArpOp = 21, 2 bytes, 16 bits, L4Src << 0, false, Requires::Arp;
    ArpSpa = 22, 4 bytes, 32 bits, L3Src << 0, true, Requires::Arp;
    ArpTpa = 23, 4 bytes, 32 bits, L3Dst << 0, true, Requires::Arp;
    ArpSha = 24, 6 bytes, 48 bits, LinkSrc << 0, true, Requires::Arp;
    ArpTha = 25, 6 bytes, 48 bits, LinkDst << 0, true, Requires::Arp;
    Ipv6Src = 26, 16 bytes, 128 bits, L3Src << 0, true, Requires::Ipv6;
    Ipv6Dst = 27, 16 bytes, 128 bits, L3Dst << 0, true, Requires::Ipv6;
    Ipv6FlowLabel = 28, 4 bytes, 20 bits, Label << 0, true, Requires::Ipv6;
    Icmpv6Type = 29, 1 bytes, 8 bits, L4Src << 0, false, Requires::Icmp(58, IPV6);
    Icmpv6Code = 30, 1 bytes, 8 bits, L4Dst << 0, false, Requires::Icmp(58, IPV6);
    NdTarget = 31, 16 bytes, 128 bits, NdTarget << 0, true, Requires::Neighbour(135, 136);
    NdSll = 32, 6 bytes, 48 bits, LinkSrc << 0, false, Requires::Neighbour(135, 135);
    NdTll = 33, 6 bytes, 48 bits, LinkDst << 0, false, Requires::Neighbour(136, 136);
    MplsLabel = 34, 4 bytes, 20 bits, Label << 0, false, Requires::Mpls;
    MplsTc = 35, 1 bytes, 3 bits, Label << 20, false, Requires::Mpls;
    MplsBos = 36, 1 bytes, 1 bits, Label << 23, false, Requires::Mpls;
    PbbIsid = 37, 3 bytes, 24 bits, Label << 0, true, Requires::Pbb;
    TunnelId = 38, 8 bytes, 64 bits, TunnelLow << 0, true, Requires::Nothing;
    Ipv6Exthdr = 39, 2 bytes, 9 bits, Label << 20, true, Requires::Ipv6;
}

pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const ARP: u16 = 0x0806;
pub(crate) const IPV6: u16 = 0x86dd;
pub(crate) const MPLS: u16 = 0x8847;
pub(crate) const MPLS_MULTICAST: u16 = 0x8848;
pub(crate) const PBB: u16 = 0x88e7;
/// The bit of `VlanVid` that says that there is a tag (`OFPVID_PRESENT`).
pub(crate) const TAG_PRESENT: u128 = 0x1000;

impl Field {
    /// A field by its number.
    pub(crate) fn by_number(number: u8) -> Option<Field> {
        Field::ALL.iter().copied().find(|field| field.number() == number)
    }

    pub(crate) fn number(self) -> u8 {
        self as u8
    }

    /// Bytes of its value in a message.
    pub(crate) fn bytes(self) -> usize {
        self.description().0
    }

    /// All ones.
    pub(crate) fn all(self) -> u128 {
        u128::MAX >> (128 - self.description().1)
    }

    /// A value, or mask, of the field as parts of keys. Tunnel identifiers lie in two.
    pub(crate) fn parts(self, value: u128) -> [(KeyField, u128); 2] {
        let (_, _, key, shift, ..) = self.description();
        match self {
            Field::TunnelId => [(KeyField::TunnelHigh, value >> 32), (KeyField::TunnelLow, value & 0xffff_ffff)],
            _ => [(key, value << shift), (key, 0)],
        }
    }

    pub(crate) fn may_have_mask(self) -> bool {
        self.description().4
    }

    /// Checks a field against what `value_of` says of the other fields, each with its value if it is fixed.
    pub(crate) fn check_required(
        self,
        value_of: impl Fn(Field) -> Option<u128>,
        refusal: Refusal,
    ) -> Result<(), Refusal> {
        let eth_type = |wanted: u16| value_of(Field::EthType) == Some(wanted.into());
        let proto = |wanted: u8| value_of(Field::IpProto) == Some(wanted.into());
        let ip = eth_type(IPV4) || eth_type(IPV6);
        let fine = match self.description().5 {
            Requires::Nothing => true,
            Requires::Tag => value_of(Field::VlanVid).is_some_and(|vid| vid & TAG_PRESENT != 0),
            Requires::Ip => ip,
            Requires::Ipv4 => eth_type(IPV4),
            Requires::Ipv6 => eth_type(IPV6),
            Requires::Arp => eth_type(ARP),
            Requires::Proto(number) => ip && proto(number),
            Requires::Icmp(number, over) => eth_type(over) && proto(number),
            Requires::Mpls => eth_type(MPLS) || eth_type(MPLS_MULTICAST),
            Requires::Pbb => eth_type(PBB),
            Requires::Neighbour(one, other) => {
                let kind = value_of(Field::Icmpv6Type);
                eth_type(IPV6) && proto(58) && (kind == Some(one.into()) || kind == Some(other.into()))
            }
        };
        if fine { Ok(()) } else { Err(refusal) }
    }
}
