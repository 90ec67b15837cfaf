//! Values of types that `@p4runtime_translation` translates (P4Runtime 8.4.6): those of controllers, and those of the data plane.
//!
//! A controller's value gets a data plane's value when it is first used, and they belong together until nothing that controllers
//! have written uses them and values are needed, see [`Translations::sweep`]. A number gets the same number, and a string of decimal
//! digits that number, if it is free. Others get the highest one that is free: low ones are for constants of programs.
//! `@p4runtime_translation_mappings` gives pairs that stay. Ports have the names and numbers of the device's ports, and no others; where
//! controllers have 32 bits for a port, P4Runtime's number of the CPU's port is one, too.

use std::collections::{HashMap, HashSet};

use ::bytes::Bytes;
use hopwright_ir::bits;
use num_bigint::BigUint;

use crate::bytes::{self, NotANumber};
use crate::error::{Error, Result, bad_number, exhausted, invalid, out_of_range};
use crate::listing;

/// The most bytes of a string.
const MAX_TEXT: usize = 1024;
/// The values of a type that are kept before unused ones are looked for.
const KEPT: usize = 4096;
/// P4Runtime's number of the CPU's port (`SDN_PORT_CPU`), and the bits of such numbers.
const CPU: u32 = 0xffff_fffd;
const CPU_BITS: u32 = 32;
/// What a pair takes beside the bytes of the controllers' value.
const PAIR: u64 = 384;

/// A type whose values are translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslatedType {
    /// Its name in P4Info.
    pub name: String,
    /// Bits of the controllers' numbers; `None` if they have strings.
    pub sdn_width: Option<u32>,
    /// Bits of the data plane's numbers.
    pub width: u32,
    /// Whether its values are ports.
    pub port: bool,
    /// The pairs that the program gives.
    pub fixed: Vec<(Bytes, BigUint)>,
}

/// Where a translated value is.
#[derive(Clone, Copy, Debug)]
pub struct Translated<'p> {
    /// The type's position in the schema.
    pub ty: usize,
    /// A value, not a part of a mask, prefix or range: those are numbers of the data plane.
    pub whole: bool,
    /// For messages.
    pub name: &'p str,
}

/// Why a value is not translated.
#[derive(Debug)]
pub(crate) enum Untranslated {
    /// All values of the type are in use, or were.
    Full,
    Invalid(Error),
}

impl From<Error> for Untranslated {
    fn from(error: Error) -> Untranslated {
        Untranslated::Invalid(error)
    }
}

/// The pairs of each type.
#[derive(Clone, Debug, Default)]
pub struct Translations {
    types: Vec<TranslatedType>,
    pairs: Vec<Pairs>,
    ports: Vec<(Bytes, BigUint)>,
    /// The CPU's port, if there is one.
    cpu: Option<BigUint>,
    /// Whether controllers call it by P4Runtime's number.
    cpu_by_number: bool,
    /// The data plane's values that were given since [`Translations::begin`].
    given: Vec<(usize, BigUint)>,
    /// The pairs at that time, if unused ones were removed since.
    before: Option<Vec<Pairs>>,
    /// Whether something was changed since unused pairs were looked for, so that there may be some.
    stale: bool,
}

#[derive(Clone, Debug, Default)]
struct Pairs {
    values: HashMap<Bytes, BigUint>,
    names: HashMap<BigUint, Bytes>,
    /// How far below the highest value those begin that were not given yet.
    next: u64,
    /// The number of pairs at which unused ones are looked for.
    most: usize,
    /// Bytes that the pairs take.
    bytes: u64,
}

impl Pairs {
    fn of(ty: &TranslatedType) -> Pairs {
        let mut pairs = Pairs { most: KEPT, ..Pairs::default() };
        ty.fixed.iter().for_each(|(name, value)| pairs.add(name.clone(), value.clone()));
        pairs
    }

    fn add(&mut self, name: Bytes, value: BigUint) {
        self.bytes += pair_bytes(&name);
        if let Some(before) = self.names.insert(value.clone(), name.clone()) {
            self.bytes -= pair_bytes(&before);
        }
        self.values.insert(name, value);
    }

    fn remove(&mut self, value: &BigUint) {
        if let Some(name) = self.names.remove(value) {
            self.bytes -= pair_bytes(&name);
            self.values.remove(&name);
        }
    }

    /// The highest value that was not given.
    fn unused(&mut self, width: u32) -> Option<BigUint> {
        let all = 1u64.checked_shl(width).unwrap_or(u64::MAX);
        while self.next < all {
            let value = bits::mask(width) - self.next;
            self.next += 1;
            if !self.names.contains_key(&value) {
                return Some(value);
            }
        }
        None
    }
}

fn pair_bytes(name: &Bytes) -> u64 {
    PAIR + name.len() as u64
}

impl TranslatedType {
    /// The bits of controllers' numbers, if they have more than the data plane's. A match of all these bits is one of a whole value.
    pub fn wide(&self) -> Option<u32> {
        self.sdn_width.filter(|sdn| *sdn > self.width)
    }

    /// Whether a controller's value is P4Runtime's number of the CPU's port.
    fn is_cpu(&self, name: &[u8]) -> bool {
        self.port && self.sdn_width == Some(CPU_BITS) && BigUint::from_bytes_be(name) == CPU.into()
    }

    /// A controller's value, checked and in the shortest form.
    fn canonical(&self, place: &str, request: &[u8]) -> Result<Bytes> {
        if let Some(width) = self.sdn_width {
            return bytes::number(request, width).map(|n| bytes::of(&n)).map_err(|e| bad_number(place, width, e));
        }
        if request.is_empty() && self.fixed.iter().all(|(name, _)| !name.is_empty()) {
            return Err(bad_number(place, self.width, NotANumber::Empty));
        }
        if request.len() > MAX_TEXT {
            return Err(invalid(format!("`{place}`: a string has at most {MAX_TEXT} bytes, not {}", request.len())));
        }
        match std::str::from_utf8(request) {
            Ok(_) => Ok(Bytes::copy_from_slice(request)),
            Err(_) => Err(invalid(format!("`{place}`: values of `{}` are strings in UTF-8", self.name))),
        }
    }

    /// The number that a controller's value means by itself, if the data plane has it.
    fn number(&self, name: &[u8]) -> Option<BigUint> {
        let value = match self.sdn_width {
            Some(_) => BigUint::from_bytes_be(name),
            None => {
                // As many digits as the width has bits are enough.
                let decimal =
                    !name.is_empty() && name.len() <= self.width as usize && name.iter().all(u8::is_ascii_digit);
                let canonical = decimal && (name[0] != b'0' || name.len() == 1);
                canonical.then(|| BigUint::parse_bytes(name, 10)).flatten()?
            }
        };
        (value.bits() <= u64::from(self.width)).then_some(value)
    }

    /// A number of the data plane as it is by itself.
    fn name(&self, value: &BigUint) -> Bytes {
        match self.sdn_width {
            Some(_) => bytes::of(value),
            None => value.to_string().into_bytes().into(),
        }
    }

    /// The names of ports that are values of the type.
    fn port_names<'p>(&self, ports: &'p [(Bytes, BigUint)]) -> &'p [(Bytes, BigUint)] {
        if self.port && self.sdn_width.is_none() { ports } else { &[] }
    }

    /// For messages.
    pub(crate) fn text(&self, name: &[u8]) -> String {
        match self.sdn_width {
            Some(_) => format!("{:#x}", BigUint::from_bytes_be(name)),
            None => format!("\"{}\"", String::from_utf8_lossy(name)),
        }
    }
}

impl Translations {
    pub(crate) fn new(types: &[TranslatedType]) -> Translations {
        let pairs = types.iter().map(Pairs::of).collect();
        Translations { types: types.to_vec(), pairs, ..Translations::default() }
    }

    /// Whether no type is translated.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// The bytes that all pairs take.
    pub(crate) fn bytes(&self) -> u64 {
        self.pairs.iter().map(|pairs| pairs.bytes).sum()
    }

    /// Whether values are ports.
    pub fn has_ports(&self) -> bool {
        self.types.iter().any(|ty| ty.port)
    }

    /// Whether ports have names.
    pub fn names_ports(&self) -> bool {
        self.types.iter().any(|ty| ty.port && ty.sdn_width.is_none())
    }

    /// Sets the CPU's port.
    pub fn set_cpu_port(&mut self, port: Option<u32>) {
        self.cpu = port.map(BigUint::from);
    }

    /// Sets the device's ports: names and numbers.
    pub fn set_ports(&mut self, ports: impl Iterator<Item = (String, u32)>) {
        self.ports = ports.map(|(name, number)| (Bytes::from(name), number.into())).collect();
    }

    /// The data plane's value, if the controller's has one.
    ///
    /// # Errors
    /// If no value is like this: a string that is none, a number of too many bits, a port that the device does not have.
    pub fn find(&self, place: Translated<'_>, request: &[u8]) -> Result<Option<BigUint>> {
        let (ty, pairs) = (&self.types[place.ty], &self.pairs[place.ty]);
        let name = ty.canonical(place.name, request)?;
        if !place.whole {
            let text = || format!("`{}`: {} is no number of {} bits", place.name, ty.text(&name), ty.width);
            return ty.number(&name).map(Some).ok_or_else(|| invalid(text()));
        }
        if let Some(value) = pairs.values.get(&name) {
            return Ok(Some(value.clone()));
        }
        if ty.port {
            let known =
                ty.port_names(&self.ports).iter().find(|(port, _)| *port == name).map(|(_, number)| number.clone());
            let known = known.or_else(|| self.cpu.clone().filter(|_| ty.is_cpu(&name)));
            return known.or_else(|| ty.number(&name)).map(Some).ok_or_else(|| self.no_port(place, &name));
        }
        Ok(ty.number(&name).filter(|value| !pairs.names.contains_key(value)))
    }

    fn no_port(&self, place: Translated<'_>, name: &[u8]) -> Error {
        let ty = &self.types[place.ty];
        if ty.sdn_width.is_some() {
            let mut more: Vec<_> = ty.fixed.iter().map(|(name, _)| ty.text(name)).collect();
            if self.cpu.is_some() && ty.is_cpu(&CPU.to_be_bytes()) {
                more.push(ty.text(&CPU.to_be_bytes()));
            }
            let more = if more.is_empty() { String::new() } else { format!(", or {}", more.join(", ")) };
            let (place, text, width) = (place.name, ty.text(name), ty.width);
            return out_of_range(format!(
                "`{place}`: there is no port {text}: ports have numbers of {width} bits{more}"
            ));
        }
        let ports = ty.port_names(&self.ports);
        let names: Vec<_> = ports.iter().map(|(port, _)| String::from_utf8_lossy(port)).collect();
        let those = listing::those(names.iter().map(|name| &**name));
        let text = ty.text(name);
        let how = match name.iter().any(u8::is_ascii_control) {
            true => "ports are text here, a name or a decimal number, and not the bytes of a number",
            false => "ports are also known by number",
        };
        invalid(format!("`{}`: there is no port {text}{those}; {how}", place.name))
    }

    /// The data plane's value of a controller's, which gets one if it has none.
    ///
    /// # Errors
    /// As [`Translations::find`], and if all values are in use.
    pub(crate) fn give(&mut self, place: Translated<'_>, request: &[u8]) -> std::result::Result<BigUint, Untranslated> {
        let found = self.find(place, request)?;
        self.cpu_by_number |= self.types[place.ty].is_cpu(request);
        let (ty, pairs) = (&self.types[place.ty], &mut self.pairs[place.ty]);
        if let Some(value) = &found
            && (!place.whole || ty.port || pairs.names.contains_key(value))
        {
            return Ok(value.clone());
        }
        if pairs.names.len() >= pairs.most {
            return Err(Untranslated::Full);
        }
        let value = found.or_else(|| pairs.unused(ty.width)).ok_or(Untranslated::Full)?;
        pairs.add(ty.canonical(place.name, request)?, value.clone());
        self.given.push((place.ty, value.clone()));
        Ok(value)
    }

    /// The controller's value of a data plane's.
    pub fn show(&self, place: Translated<'_>, value: &BigUint) -> Bytes {
        let ty = &self.types[place.ty];
        if !place.whole {
            return ty.name(value);
        }
        if self.cpu_by_number && self.cpu.as_ref() == Some(value) && ty.is_cpu(&CPU.to_be_bytes()) {
            return Bytes::copy_from_slice(&CPU.to_be_bytes());
        }
        let port = || ty.port_names(&self.ports).iter().find(|(_, number)| number == value).map(|(name, _)| name);
        let named = self.pairs[place.ty].names.get(value).or_else(port);
        named.cloned().unwrap_or_else(|| ty.name(value))
    }

    /// The same for messages.
    pub(crate) fn text(&self, ty: usize, value: &BigUint) -> String {
        self.types[ty].text(&self.show(Translated { ty, whole: true, name: "" }, value))
    }

    /// Whether the program names a value.
    pub(crate) fn is_fixed(&self, ty: usize, value: &BigUint) -> bool {
        self.types[ty].fixed.iter().any(|(_, fixed)| fixed == value)
    }

    /// Begins something that may be undone.
    pub(crate) fn begin(&mut self) {
        self.given.clear();
        self.before = None;
    }

    /// Takes back what was given since [`Translations::begin`].
    pub(crate) fn undo(&mut self) {
        self.take_back();
        if let Some(before) = self.before.take() {
            self.pairs = before;
            self.stale = true;
        }
    }

    fn take_back(&mut self) {
        for (ty, value) in self.given.drain(..) {
            let pairs = &mut self.pairs[ty];
            pairs.remove(&value);
            let at = u64::try_from(bits::mask(self.types[ty].width) - value);
            pairs.next = at.map_or(pairs.next, |at| pairs.next.min(at));
        }
    }

    /// Something was changed that may have used a pair.
    pub(crate) fn changed(&mut self) {
        self.stale = true;
    }

    /// Whether there may be pairs that are not in use.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale
    }

    /// Makes room where as many pairs are in use as were kept. Returns whether that was so anywhere.
    pub(crate) fn grow(&mut self) -> bool {
        let mut grew = false;
        for pairs in self.pairs.iter_mut().filter(|pairs| pairs.names.len() >= pairs.most) {
            pairs.most *= 2;
            grew = true;
        }
        grew
    }

    /// Removes pairs that are not in use.
    pub(crate) fn sweep(&mut self, used: &HashSet<(usize, BigUint)>) {
        if self.before.is_none() {
            let now = self.pairs.clone();
            self.take_back();
            self.before = Some(std::mem::replace(&mut self.pairs, now));
        }
        for (at, pairs) in self.pairs.iter_mut().enumerate() {
            let fixed = &self.types[at].fixed;
            let kept = |value: &BigUint| used.contains(&(at, value.clone())) || fixed.iter().any(|(_, f)| f == value);
            pairs.values.retain(|_, value| kept(value));
            pairs.names.retain(|value, _| kept(value));
            pairs.bytes = pairs.names.values().map(pair_bytes).sum();
            pairs.next = 0;
            pairs.most = KEPT.max(2 * pairs.names.len());
        }
        self.stale = false;
    }

    /// Gives values that the program itself uses their numbers, so that nothing else gets them.
    pub(crate) fn keep(&mut self, used: HashSet<(usize, BigUint)>) {
        for (ty, value) in used {
            if !self.types[ty].port && !self.pairs[ty].names.contains_key(&value) {
                let name = self.types[ty].name(&value);
                self.pairs[ty].add(name, value);
            }
        }
    }

    /// Takes over another program's pairs of types that are the same.
    pub(crate) fn carry(&mut self, old: &Translations) {
        self.cpu_by_number |= old.cpu_by_number;
        for (at, ty) in self.types.iter().enumerate() {
            let same =
                old.types.iter().position(|o| o.name == ty.name && (o.sdn_width, o.width) == (ty.sdn_width, ty.width));
            let Some(from) = same else { continue };
            for (name, value) in &old.pairs[from].values {
                let into = &mut self.pairs[at];
                if !into.values.contains_key(name) && !into.names.contains_key(value) {
                    into.add(name.clone(), value.clone());
                }
            }
        }
    }

    /// All values of a type are in use.
    pub(crate) fn full(&self, place: Translated<'_>) -> Error {
        let ty = &self.types[place.ty];
        exhausted(format!("`{}`: all values of `{}`, which has {} bits, are in use", place.name, ty.name, ty.width))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(sdn_width: Option<u32>, width: u32) -> Translations {
        let fixed = if sdn_width.is_none() { vec![(Bytes::new(), BigUint::ZERO)] } else { Vec::new() };
        Translations::new(&[TranslatedType { name: "id_t".into(), sdn_width, width, port: false, fixed }])
    }

    const PLACE: Translated<'static> = Translated { ty: 0, whole: true, name: "id" };

    proptest! {
        /// What a controller writes is what it reads, and different values are different in the data plane.
        #[test]
        fn there_and_back_is_identity(names in proptest::collection::hash_set("[a-z0-9]{0,4}|[0-9]{1,3}", 0..60), width in 6u32..20) {
            let mut all = of(None, width);
            let mut given = HashMap::new();
            for name in &names {
                let value = all.give(PLACE, name.as_bytes()).unwrap();
                prop_assert!(value.bits() <= u64::from(width));
                prop_assert!(given.insert(value.clone(), name).is_none());
                prop_assert_eq!(all.give(PLACE, name.as_bytes()).unwrap(), value);
            }
            for (value, name) in given {
                prop_assert_eq!(&all.show(PLACE, &value)[..], name.as_bytes());
            }
        }

        #[test]
        fn wide_numbers_go_there_and_back(numbers in proptest::collection::hash_set(any::<u32>(), 0..60), width in 6u32..32) {
            let mut all = of(Some(32), width);
            let mut values = HashSet::new();
            for number in numbers {
                let request = bytes::of(&number.into());
                let value = all.give(PLACE, &request).unwrap();
                prop_assert!(value.bits() <= u64::from(width) && values.insert(value.clone()));
                prop_assert_eq!(all.show(PLACE, &value), request);
            }
        }

        /// What is undone was never given, also if unused values were taken back meanwhile.
        #[test]
        fn undone_is_never_given(first in proptest::collection::hash_set("[a-z]{1,3}", 0..20),
                                 then in proptest::collection::vec("[a-z]{1,3}", 0..40), keep in 0usize..20) {
            let mut all = of(None, 6);
            let values: Vec<_> = first.iter().map(|name| all.give(PLACE, name.as_bytes()).unwrap()).collect();
            let shown: Vec<_> = values.iter().map(|value| all.show(PLACE, value)).collect();
            all.begin();
            for (at, name) in then.iter().enumerate() {
                if at == keep {
                    all.sweep(&values.iter().take(keep).map(|value| (0, value.clone())).collect());
                }
                let _ = all.give(PLACE, name.as_bytes());
            }
            all.undo();
            prop_assert_eq!(values.iter().map(|value| all.show(PLACE, value)).collect::<Vec<_>>(), shown);
            prop_assert_eq!(all.pairs[0].values.len(), first.len() + 1);
            prop_assert_eq!(all.pairs[0].names.len(), first.len() + 1);
        }
    }

    #[test]
    fn values_are_given_again_when_nothing_uses_them() {
        let mut all = of(None, 2);
        for name in ["a", "b", "c"] {
            all.give(PLACE, name.as_bytes()).unwrap();
        }
        assert!(matches!(all.give(PLACE, b"d"), Err(Untranslated::Full)));
        let b = all.find(PLACE, b"b").unwrap().unwrap();
        all.sweep(&[(0, b.clone())].into());
        all.give(PLACE, b"d").unwrap();
        assert_eq!((all.find(PLACE, b"a").unwrap(), all.find(PLACE, b"b").unwrap()), (None, Some(b)));
        assert_eq!(all.find(PLACE, b"").unwrap(), Some(BigUint::ZERO));
    }

    #[test]
    fn bytes_are_those_of_the_pairs_that_there_are() {
        let mut all = of(None, 8);
        let before = all.bytes();
        all.begin();
        for _ in 0..2 {
            all.give(PLACE, b"a-long-name").unwrap();
            assert_eq!(all.bytes(), before + PAIR + 11);
        }
        all.undo();
        assert_eq!(all.bytes(), before);
        all.begin();
        all.give(PLACE, b"b").unwrap();
        all.sweep(&HashSet::new());
        assert_eq!(all.bytes(), before);
        all.undo();
        assert_eq!(all.bytes(), before);
    }

    #[test]
    fn ports_have_names_and_numbers() {
        let ty = TranslatedType { name: "port_t".into(), sdn_width: None, width: 9, port: true, fixed: Vec::new() };
        let mut all = Translations::new(&[ty]);
        all.set_ports([("Ethernet0".to_string(), 3)].into_iter());
        assert_eq!(all.give(PLACE, b"Ethernet0").unwrap(), 3u32.into());
        assert_eq!(all.give(PLACE, b"510").unwrap(), 510u32.into());
        assert_eq!(&all.show(PLACE, &3u32.into())[..], b"Ethernet0");
        assert_eq!(&all.show(PLACE, &510u32.into())[..], b"510");
        let Err(Untranslated::Invalid(error)) = all.give(PLACE, b"Ethernet9") else { panic!() };
        assert!(error.message.contains("there is no port \"Ethernet9\"; there are Ethernet0"), "{}", error.message);
        // What clients send that take all ports for numbers.
        let Err(Untranslated::Invalid(error)) = all.give(PLACE, &[3]) else { panic!() };
        assert!(error.message.contains("a name or a decimal number, and not the bytes"), "{}", error.message);
    }
}
