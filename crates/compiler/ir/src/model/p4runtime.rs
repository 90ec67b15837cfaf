//! Ids by which a P4Runtime control plane knows the program's objects.

use serde::{Deserialize, Serialize};

use super::{ExternKind, Pipeline};

/// Kinds of objects, numbered as the highest byte of their ids (P4Runtime 6.3.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum P4Kind {
    Action = 0x01,
    Table = 0x02,
    ValueSet = 0x03,
    ControllerHeader = 0x04,
    ActionProfile = 0x11,
    Counter = 0x12,
    DirectCounter = 0x13,
    Meter = 0x14,
    DirectMeter = 0x15,
    Register = 0x16,
    Digest = 0x17,
    // Of the range for extern objects that P4Runtime does not know.
    Lpf = 0x86,
    Wred = 0x87,
}

impl P4Kind {
    /// All kinds, by rising number.
    pub const ALL: [P4Kind; 13] = [
        P4Kind::Action,
        P4Kind::Table,
        P4Kind::ValueSet,
        P4Kind::ControllerHeader,
        P4Kind::ActionProfile,
        P4Kind::Counter,
        P4Kind::DirectCounter,
        P4Kind::Meter,
        P4Kind::DirectMeter,
        P4Kind::Register,
        P4Kind::Digest,
        P4Kind::Lpf,
        P4Kind::Wred,
    ];

    /// For messages: `direct counter`.
    pub fn words(self) -> &'static str {
        match self {
            P4Kind::Action => "action",
            P4Kind::Table => "table",
            P4Kind::ValueSet => "value set",
            P4Kind::ControllerHeader => "controller header",
            P4Kind::ActionProfile => "action profile",
            P4Kind::Counter => "counter",
            P4Kind::DirectCounter => "direct counter",
            P4Kind::Meter => "meter",
            P4Kind::DirectMeter => "direct meter",
            P4Kind::Register => "register",
            P4Kind::Digest => "digest",
            P4Kind::Lpf => "low-pass filter",
            P4Kind::Wred => "early drop",
        }
    }
}

/// The P4Runtime id of an object: its [`P4Kind`] in the highest byte, a number in the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct P4Id(pub u32);

impl P4Id {
    /// The bits of an id other than its kind.
    pub const NUMBER: u32 = 0x00ff_ffff;

    /// The id that p4c gives an object without `@id`: a hash of its full name, or the next number that is free (P4Runtime 6.3.9 leaves
    /// this choice to the compiler). `take` takes an id, and returns whether it was free.
    pub fn of_name(kind: P4Kind, name: &str, mut take: impl FnMut(P4Id) -> bool) -> P4Id {
        let prefix = (kind as u32) << 24;
        let mut number = jenkins(name) & Self::NUMBER;
        while number == 0 || !take(P4Id(prefix | number)) {
            number = number.wrapping_add(1) & Self::NUMBER;
        }
        P4Id(prefix | number)
    }

    /// Whether the highest byte says this kind, and the rest is not zero.
    pub fn is_of(self, kind: P4Kind) -> bool {
        self.0 >> 24 == kind as u32 && self.0 & Self::NUMBER != 0
    }
}

/// Bob Jenkins' one-at-a-time hash.
fn jenkins(name: &str) -> u32 {
    let mut hash = 0u32;
    for byte in name.bytes() {
        hash = hash.wrapping_add(u32::from(byte));
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// An object that the control plane knows although it is not one of the pipeline's: a digest, a controller header, an
/// action that lowering inlines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlPlaneObject {
    /// What it is.
    pub kind: P4Kind,
    /// Control-plane name.
    pub name: String,
    /// Its id.
    pub id: P4Id,
}

impl ExternKind {
    /// What P4Runtime calls such an object; `None` for those that it does not know.
    pub fn p4_kind(&self) -> Option<P4Kind> {
        Some(match self {
            ExternKind::Counter { .. } => P4Kind::Counter,
            ExternKind::DirectCounter { .. } => P4Kind::DirectCounter,
            ExternKind::Meter { .. } => P4Kind::Meter,
            ExternKind::DirectMeter { .. } => P4Kind::DirectMeter,
            ExternKind::Register { .. } => P4Kind::Register,
            ExternKind::ActionProfile { .. } | ExternKind::ActionSelector { .. } => P4Kind::ActionProfile,
            ExternKind::Named { type_name, .. } if type_name == "Lpf" => P4Kind::Lpf,
            ExternKind::Named { type_name, .. } if type_name == "Wred" => P4Kind::Wred,
            ExternKind::Named { .. } | ExternKind::Stateless => return None,
        })
    }
}

impl Pipeline {
    /// Every object that has an id: kind, control-plane name, id.
    pub fn p4_ids(&self) -> impl Iterator<Item = (P4Kind, &str, P4Id)> {
        let tables = self.tables.iter().filter_map(|t| Some((P4Kind::Table, t.name.as_str(), t.id?)));
        let actions = self.actions.iter().filter_map(|a| Some((P4Kind::Action, a.name.as_str(), a.id?)));
        let sets = self.value_sets.iter().filter_map(|v| Some((P4Kind::ValueSet, v.name.as_str(), v.id?)));
        let externs = self.externs.iter().filter_map(|e| Some((e.kind.p4_kind()?, e.name.as_str(), e.id?)));
        let others = self.control_plane_objects.iter().map(|o| (o.kind, o.name.as_str(), o.id));
        tables.chain(actions).chain(sets).chain(externs).chain(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids found in public P4Info files made by p4c.
    #[test]
    fn ids_are_those_of_p4c() {
        let cases = [
            (P4Kind::Table, "MyIngress.ipv4_lpm", 37375156),
            (P4Kind::Action, "MyIngress.ipv4_forward", 28792405),
            (P4Kind::Action, "NoAction", 21257015),
        ];
        for (kind, name, id) in cases {
            assert_eq!(P4Id::of_name(kind, name, |_| true), P4Id(id), "{name}");
        }
    }
}
