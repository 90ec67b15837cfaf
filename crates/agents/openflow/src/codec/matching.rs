//! Matches: which packets a flow is for.

use super::bytes::{Reader, Write, align, set_length};
use super::field::{ARP, IPV4, KeyField, TAG_PRESENT};
use super::{Field, Refusal, port};

/// Bits of `ofp_match.wildcards` (1.0, section 5.2.3).
mod wildcard {
    pub(super) const IN_PORT: u32 = 1 << 0;
    pub(super) const VLAN: u32 = 1 << 1;
    pub(super) const ETH_SRC: u32 = 1 << 2;
    pub(super) const ETH_DST: u32 = 1 << 3;
    pub(super) const ETH_TYPE: u32 = 1 << 4;
    pub(super) const PROTO: u32 = 1 << 5;
    pub(super) const TP_SRC: u32 = 1 << 6;
    pub(super) const TP_DST: u32 = 1 << 7;
    pub(super) const NW_SRC: u32 = 8;
    pub(super) const NW_DST: u32 = 14;
    pub(super) const VLAN_PCP: u32 = 1 << 20;
    pub(super) const TOS: u32 = 1 << 21;
    pub(super) const ALL: u32 = (1 << 22) - 1;
}
/// `dl_vlan` of packets without a tag.
const NO_VLAN_10: u16 = 0xffff;

/// A field's value, and the bits of it that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct FieldMatch {
    pub field: Field,
    pub value: u128,
    pub mask: u128,
}

/// Fields by their number, each once, with values that are zero where the mask is; none with an empty mask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct Match {
    fields: Vec<FieldMatch>,
    /// All twelve fields of 1.0 were given.
    pub exact: bool,
}

/// What a match says of the keys of the program's tables: key, value and mask, by key; none with an empty mask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Key(Box<[(KeyField, u128, u128)]>);

impl Match {
    pub(crate) fn fields(&self) -> &[FieldMatch] {
        &self.fields
    }

    /// The value of a field that is fixed.
    pub(crate) fn value(&self, field: Field) -> Option<u128> {
        // A tag that is there, whatever its identifier.
        let known = |m: &&FieldMatch| m.mask == field.all() || field == Field::VlanVid && m.mask & TAG_PRESENT != 0;
        self.fields.iter().find(|m| m.field == field).filter(known).map(|m| m.value)
    }

    pub(crate) fn add(&mut self, field: Field, value: u128, mask: u128) {
        self.put(field, value, mask & field.all());
    }

    /// Adds what 1.0 says of a transport field in 16 bits. No packet has a type or code of ICMP above 255, but a flow may.
    fn add_transport(&mut self, field: Field, value: u16) {
        let value = u128::from(value);
        self.put(field, value, if value > field.all() { 0xffff } else { field.all() });
    }

    fn put(&mut self, field: Field, value: u128, mask: u128) {
        if mask != 0 {
            let at = self.fields.partition_point(|m| m.field < field);
            self.fields.insert(at, FieldMatch { field, value: value & mask, mask });
        }
    }

    /// What the program matches.
    pub(crate) fn key(&self) -> Key {
        let mut keys: Vec<(KeyField, u128, u128)> = Vec::with_capacity(self.fields.len());
        for m in &self.fields {
            let parts = m.field.parts(m.value).into_iter().zip(m.field.parts(m.mask));
            for ((key, value), (_, mask)) in parts.filter(|(_, (_, mask))| *mask != 0) {
                match keys.iter_mut().find(|(at, ..)| *at == key) {
                    Some((_, values, masks)) => {
                        *values |= value;
                        *masks |= mask;
                    }
                    None => keys.push((key, value, mask)),
                }
            }
        }
        keys.sort_unstable();
        Key(keys.into())
    }

    /// Reads `ofp_match` of 1.3, with its padding.
    pub(crate) fn read_13(from: &mut Reader<'_>) -> Result<Match, Refusal> {
        let kind = from.u16()?;
        let length = usize::from(from.u16()?);
        if kind != 1 {
            return Err(Refusal::MATCH_TYPE);
        }
        let mut fields = from.part(length.checked_sub(4).ok_or(Refusal::MATCH_LEN)?, Refusal::MATCH_LEN)?;
        from.skip(length.next_multiple_of(8) - length)?;
        let mut found = Match::default();
        while !fields.is_empty() {
            let m = read_field(&mut fields, Refusal::MATCH_FIELD, Refusal::MATCH_LEN)?;
            if found.fields.iter().any(|other| other.field == m.field) {
                return Err(Refusal::MATCH_DUPLICATE);
            }
            let field = m.field;
            if m.mask != field.all() && !field.may_have_mask() {
                return Err(Refusal::MATCH_MASK);
            }
            // Bits that the mask leaves out are zero (section 7.2.3.5), as are those that a field does not have.
            if m.value & !m.mask != 0 || m.value & !field.all() != 0 {
                return Err(Refusal::MATCH_VALUE);
            }
            // Packets without a tag have no identifier.
            if field == Field::VlanVid && m.mask & TAG_PRESENT != 0 && m.value & TAG_PRESENT == 0 && m.value != 0 {
                return Err(Refusal::MATCH_VALUE);
            }
            // Fields with an empty mask still count for what others require: none is required that may have one.
            found.add(field, m.value, m.mask);
        }
        for m in &found.fields {
            m.field.check_required(|field| found.value(field), Refusal::MATCH_PREREQUISITE)?;
        }
        Ok(found)
    }

    /// Reads `ofp_match` of 1.0. Fields that make no sense with the others are ignored.
    pub(crate) fn read_10(from: &mut Reader<'_>) -> Result<Match, Refusal> {
        let wild = from.u32()?;
        let in_port = from.u16()?;
        let eth_src = from.number(6)?;
        let eth_dst = from.number(6)?;
        let vlan = from.u16()?;
        let pcp = from.u8()?;
        from.skip(1)?;
        let eth_type = from.u16()?;
        let tos = from.u8()?;
        let proto = from.u8()?;
        from.skip(2)?;
        let (nw_src, nw_dst) = (from.u32()?, from.u32()?);
        let (tp_src, tp_dst) = (from.u16()?, from.u16()?);

        let given = |bit: u32| wild & bit == 0;
        let prefix = |at: u32| u32::MAX.checked_shl(wild >> at & 0x3f).unwrap_or(0);
        // A packet without a tag has no priority to match.
        let untagged = given(wildcard::VLAN) && vlan == NO_VLAN_10;
        let relevant = wildcard::ALL & !if untagged { wildcard::VLAN_PCP } else { 0 };
        let mut found = Match { exact: wild & relevant == 0, ..Match::default() };
        let mut add = |field: Field, value: u128| found.add(field, value, field.all());
        if given(wildcard::IN_PORT) {
            add(Field::InPort, port::of_10(in_port).into());
        }
        if given(wildcard::ETH_SRC) {
            add(Field::EthSrc, eth_src);
        }
        if given(wildcard::ETH_DST) {
            add(Field::EthDst, eth_dst);
        }
        let network = given(wildcard::ETH_TYPE).then_some(eth_type);
        if network.is_some() {
            add(Field::EthType, eth_type.into());
        }
        let transport = (network == Some(IPV4) && given(wildcard::PROTO)).then_some(proto);
        if transport.is_some() {
            add(Field::IpProto, proto.into());
        }
        if network == Some(ARP) && given(wildcard::PROTO) {
            add(Field::ArpOp, proto.into());
        }
        if network == Some(IPV4) && given(wildcard::TOS) {
            add(Field::IpDscp, (tos >> 2).into());
        }
        let ports = match transport {
            Some(1) => Some((Field::Icmpv4Type, Field::Icmpv4Code)),
            Some(6) => Some((Field::TcpSrc, Field::TcpDst)),
            Some(17) => Some((Field::UdpSrc, Field::UdpDst)),
            Some(132) => Some((Field::SctpSrc, Field::SctpDst)),
            _ => None,
        };
        if let Some((src, dst)) = ports {
            if given(wildcard::TP_SRC) {
                found.add_transport(src, tp_src);
            }
            if given(wildcard::TP_DST) {
                found.add_transport(dst, tp_dst);
            }
        }
        let addresses = match network {
            Some(IPV4) => Some((Field::Ipv4Src, Field::Ipv4Dst)),
            Some(ARP) => Some((Field::ArpSpa, Field::ArpTpa)),
            _ => None,
        };
        if let Some((src, dst)) = addresses {
            found.add(src, nw_src.into(), prefix(wildcard::NW_SRC).into());
            found.add(dst, nw_dst.into(), prefix(wildcard::NW_DST).into());
        }
        let tagged = match (given(wildcard::VLAN), given(wildcard::VLAN_PCP)) {
            (true, _) if vlan == NO_VLAN_10 => {
                found.add(Field::VlanVid, 0, Field::VlanVid.all());
                false
            }
            (true, _) => {
                found.add(Field::VlanVid, TAG_PRESENT | u128::from(vlan & 0xfff), Field::VlanVid.all());
                true
            }
            (false, true) => {
                found.add(Field::VlanVid, TAG_PRESENT, TAG_PRESENT);
                true
            }
            (false, false) => false,
        };
        if tagged && given(wildcard::VLAN_PCP) {
            found.add(Field::VlanPcp, (pcp & 7).into(), 7);
        }
        Ok(found)
    }

    /// Writes `ofp_match` of 1.3, padded.
    pub(crate) fn write_13(&self, out: &mut Vec<u8>) {
        let from = out.len();
        out.u16(1);
        out.u16(0);
        for m in &self.fields {
            write_field(out, m.field, m.value, (m.mask != m.field.all()).then_some(m.mask));
        }
        set_length(out, from + 2, from);
        align(out, from);
    }

    /// Writes `ofp_match` of 1.0, without the fields that it does not have.
    pub(crate) fn write_10(&self, out: &mut Vec<u8>) {
        let find = |field: Field| self.fields.iter().find(|m| m.field == field);
        let any_of = |fields: &[Field]| fields.iter().find_map(|field| find(*field));
        let mut wild = wildcard::ALL & !(0x3f << wildcard::NW_SRC) & !(0x3f << wildcard::NW_DST);
        let mut given = |found: Option<&FieldMatch>, bit: u32| match found {
            Some(m) => {
                wild &= !bit;
                m.value
            }
            None => 0,
        };
        let in_port = given(find(Field::InPort), wildcard::IN_PORT) as u16;
        let eth_src = given(find(Field::EthSrc), wildcard::ETH_SRC);
        let eth_dst = given(find(Field::EthDst), wildcard::ETH_DST);
        // A tag of any identifier is said by its priority alone.
        let vid = find(Field::VlanVid).filter(|m| m.mask & 0xfff == 0xfff);
        let vlan = match given(vid, wildcard::VLAN) as u16 {
            0 if vid.is_some() => NO_VLAN_10,
            vlan => vlan & 0xfff,
        };
        let pcp = given(find(Field::VlanPcp), wildcard::VLAN_PCP) as u8;
        let eth_type = given(find(Field::EthType), wildcard::ETH_TYPE) as u16;
        let tos = (given(find(Field::IpDscp), wildcard::TOS) as u8) << 2;
        let proto = given(any_of(&[Field::IpProto, Field::ArpOp]), wildcard::PROTO) as u8;
        let sources = [Field::TcpSrc, Field::UdpSrc, Field::SctpSrc, Field::Icmpv4Type];
        let tp_src = given(any_of(&sources), wildcard::TP_SRC) as u16;
        let destinations = [Field::TcpDst, Field::UdpDst, Field::SctpDst, Field::Icmpv4Code];
        let tp_dst = given(any_of(&destinations), wildcard::TP_DST) as u16;
        let mut network = |fields: &[Field], at: u32| match any_of(fields) {
            Some(m) => {
                wild |= (m.mask as u32).trailing_zeros() << at;
                m.value as u32
            }
            None => {
                wild |= 32 << at;
                0
            }
        };
        let nw_src = network(&[Field::Ipv4Src, Field::ArpSpa], wildcard::NW_SRC);
        let nw_dst = network(&[Field::Ipv4Dst, Field::ArpTpa], wildcard::NW_DST);
        if self.exact {
            wild = 0;
        }
        out.u32(wild);
        out.u16(in_port);
        out.number(eth_src, 6);
        out.number(eth_dst, 6);
        out.u16(vlan);
        out.u8(pcp);
        out.zeros(1);
        out.u16(eth_type);
        out.u8(tos);
        out.u8(proto);
        out.zeros(2);
        out.u32(nw_src);
        out.u32(nw_dst);
        out.u16(tp_src);
        out.u16(tp_dst);
    }
}

/// Reads a field with its value and mask.
pub(crate) fn read_field(from: &mut Reader<'_>, unknown: Refusal, length: Refusal) -> Result<FieldMatch, Refusal> {
    let class = from.u16()?;
    let [number, bytes] = from.u16()?.to_be_bytes();
    let (masked, number) = (number & 1 == 1, number >> 1);
    let mut value = from.part(bytes.into(), length)?;
    let field = (class == 0x8000).then(|| Field::by_number(number)).flatten().ok_or(unknown)?;
    if usize::from(bytes) != field.bytes() << u32::from(masked) {
        return Err(length);
    }
    let number = value.number(field.bytes())?;
    let mask = if masked { value.number(field.bytes())? } else { field.all() };
    Ok(FieldMatch { field, value: number, mask })
}

/// Writes a field with its value and, if it has one, mask.
pub(crate) fn write_field(out: &mut Vec<u8>, field: Field, value: u128, mask: Option<u128>) {
    out.u16(0x8000);
    out.u8(field.number() << 1 | u8::from(mask.is_some()));
    out.u8((field.bytes() << u32::from(mask.is_some())) as u8);
    out.number(value, field.bytes());
    if let Some(mask) = mask {
        out.number(mask, field.bytes());
    }
}

impl Key {
    /// Value and mask of one key.
    pub(crate) fn get(&self, key: KeyField) -> (u128, u128) {
        self.0.iter().find(|(at, ..)| *at == key).map_or((0, 0), |(_, value, mask)| (*value, *mask))
    }

    /// Whether every packet that `other` matches is matched by this one.
    pub(crate) fn covers(&self, other: &Key) -> bool {
        self.0.iter().all(|(key, value, mask)| {
            let (theirs, given) = other.get(*key);
            given & mask == *mask && theirs & mask == *value
        })
    }

    /// Whether some packet is matched by both.
    pub(crate) fn overlaps(&self, other: &Key) -> bool {
        self.0.iter().all(|(key, value, mask)| {
            let (theirs, given) = other.get(*key);
            (value ^ theirs) & mask & given == 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::bytes::Reader;

    fn of(fields: &[(Field, u128, u128)]) -> Match {
        let mut found = Match::default();
        fields.iter().for_each(|(field, value, mask)| found.add(*field, *value, *mask));
        found
    }

    fn read_13(bytes: &[u8]) -> Result<Match, Refusal> {
        Match::read_13(&mut Reader::new(bytes, Refusal::BAD_LEN))
    }

    #[test]
    fn what_is_written_is_read() {
        let all = u128::MAX;
        let found = of(&[
            (Field::InPort, 7, all),
            (Field::EthDst, 0x0100_0000_0000, 0x0100_0000_0000),
            (Field::EthType, IPV4.into(), all),
            (Field::Ipv4Src, 0x0a00_0000, 0xff00_0000),
        ]);
        let mut bytes = Vec::new();
        found.write_13(&mut bytes);
        assert_eq!(bytes.len() % 8, 0);
        assert_eq!(read_13(&bytes), Ok(found.clone()));
        let mut bytes = Vec::new();
        let without_masks = of(&[
            (Field::InPort, 7, all),
            (Field::EthType, IPV4.into(), all),
            (Field::Ipv4Src, 0x0a00_0000, 0xff00_0000),
        ]);
        without_masks.write_10(&mut bytes);
        assert_eq!(bytes.len(), 40);
        assert_eq!(Match::read_10(&mut Reader::new(&bytes, Refusal::BAD_LEN)), Ok(without_masks));
    }

    #[test]
    fn a_type_of_icmp_that_no_packet_has_is_kept_in_1_0() {
        let mut found = of(&[(Field::EthType, IPV4.into(), u128::MAX), (Field::IpProto, 1, u128::MAX)]);
        found.add_transport(Field::Icmpv4Type, 63_121);
        let mut bytes = Vec::new();
        found.write_10(&mut bytes);
        assert_eq!(Match::read_10(&mut Reader::new(&bytes, Refusal::BAD_LEN)), Ok(found.clone()));
        assert_eq!(found.key().get(KeyField::L4Src), (63_121, 0xffff));
    }

    #[test]
    fn a_tunnel_identifier_is_matched_by_two_keys() {
        let key = of(&[(Field::TunnelId, 0x1_0000_0002, 0xf_0000_00ff)]).key();
        assert_eq!((key.get(KeyField::TunnelHigh), key.get(KeyField::TunnelLow)), ((1, 0xf), (2, 0xff)));
        let low = of(&[(Field::TunnelId, 2, 0xff)]).key();
        assert!(low.covers(&key) && !key.covers(&low) && low.overlaps(&key));
    }

    #[test]
    fn fields_need_what_they_are_part_of() {
        let all = u128::MAX;
        let refused = |fields: &[(Field, u128, u128)]| {
            let mut bytes = Vec::new();
            of(fields).write_13(&mut bytes);
            read_13(&bytes).err()
        };
        let ipv4 = (Field::EthType, IPV4.into(), all);
        assert_eq!(refused(&[(Field::Ipv4Src, 1, all)]), Some(Refusal::MATCH_PREREQUISITE));
        assert_eq!(refused(&[ipv4, (Field::TcpDst, 1, all)]), Some(Refusal::MATCH_PREREQUISITE));
        assert_eq!(refused(&[ipv4, (Field::IpProto, 6, all), (Field::TcpDst, 1, all)]), None);
        assert_eq!(refused(&[(Field::VlanPcp, 1, all)]), Some(Refusal::MATCH_PREREQUISITE));
        assert_eq!(refused(&[(Field::VlanVid, 0x1000, 0x1000), (Field::VlanPcp, 1, all)]), None);
        assert_eq!(refused(&[(Field::VlanVid, 5, all)]), Some(Refusal::MATCH_VALUE));
        assert_eq!(refused(&[(Field::EthType, 8, 0xff)]), Some(Refusal::MATCH_MASK));
    }

    #[test]
    fn a_key_covers_what_is_narrower_and_overlaps_what_it_does_not_exclude() {
        let all = u128::MAX;
        let net = of(&[(Field::Ipv4Dst, 0x0a00_0000, 0xff00_0000)]).key();
        let host = of(&[(Field::Ipv4Dst, 0x0a00_0001, all), (Field::InPort, 1, all)]).key();
        let other = of(&[(Field::Ipv4Dst, 0x0b00_0001, all)]).key();
        let port = of(&[(Field::InPort, 2, all)]).key();
        assert!(net.covers(&host) && !host.covers(&net) && !net.covers(&other));
        assert!(net.overlaps(&host) && !net.overlaps(&other) && net.overlaps(&port) && !host.overlaps(&port));
        assert!(Match::default().key().covers(&host));
    }
}
