//! The state of a running program as control planes see it, and batches of updates of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hopwright_dataplane::{Control, VirtualDataPlane};
use hopwright_ir::{ExternId, TableId};
use num_bigint::BigUint;

use crate::change::Change;
use crate::copies;
use crate::digests::Digests;
use crate::entity::{CloneSession, Key, Metadata, MulticastGroup, Update};
use crate::entry::{EntryKey, Idle, Note, Target};
use crate::error::{Error, Result, aborted, exhausted, not_found};
use crate::references::Referrers;
use crate::schema::Schema;
use crate::translation::{Translated, Translations, Untranslated};

/// Who is notified of idle entries, each for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleListener {
    /// Controllers that are notified again after each further timeout.
    Repeated,
    /// Subscribers that are notified once, until a packet hits the entry.
    Once,
}

/// An entry that is idle.
#[derive(Clone, Debug, PartialEq)]
pub struct IdleEntry {
    /// Which one.
    pub key: EntryKey,
    /// What is read back.
    pub metadata: Metadata,
    /// The timeout that expired.
    pub timeout: Duration,
}

/// Converts a value of a translated type from what a control plane writes.
pub type Translate<'t> = dyn FnMut(Translated<'_>, &[u8]) -> Result<BigUint> + 't;

/// The changes that an update consists of.
#[derive(Debug)]
pub struct Plan(pub(crate) Vec<Change>);

/// The inverses of changes that were made.
#[derive(Debug, Default)]
pub struct Inverse(pub(crate) Vec<Change>);

/// A program with everything that control planes have written. One owner writes at a time.
#[derive(Debug)]
pub struct Model {
    pub(crate) schema: Arc<Schema>,
    pub(crate) vdp: Arc<VirtualDataPlane>,
    pub(crate) notes: HashMap<EntryKey, Note>,
    pub(crate) default_metadata: BTreeMap<TableId, Metadata>,
    pub(crate) groups: BTreeMap<u32, MulticastGroup>,
    pub(crate) sessions: BTreeMap<u32, CloneSession>,
    pub(crate) digests: Digests,
    pub(crate) translations: Translations,
    pub(crate) referrers: Referrers,
    /// Bytes that translations are charged.
    translated_bytes: u64,
}

impl Drop for Model {
    /// Gives back what it is charged: the data plane may go on without it, or with another.
    fn drop(&mut self) {
        self.vdp.control().account().release(self.bytes_of_writes() + self.digests.bytes() + self.translated_bytes);
    }
}

impl Model {
    /// The state of a program that no other model has.
    pub fn new(schema: Arc<Schema>, vdp: Arc<VirtualDataPlane>) -> Model {
        let (groups, sessions) = copies::written(vdp.control());
        let mut model = Model {
            digests: Digests::new(&schema, &vdp),
            translations: Translations::new(&schema.translated_types),
            schema,
            vdp,
            notes: HashMap::new(),
            default_metadata: BTreeMap::new(),
            groups,
            sessions,
            referrers: Referrers::default(),
            translated_bytes: 0,
        };
        if !model.translations.is_empty() {
            let used = model.used();
            model.translations.keep(used);
        }
        model.charge_what_is_there();
        model.count_all();
        model
    }

    /// The program's objects.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The data plane.
    pub fn vdp(&self) -> &Arc<VirtualDataPlane> {
        &self.vdp
    }

    /// Has other code for the same tables and objects from now on ([`VirtualDataPlane::recoded`]).
    pub fn recode(&mut self, vdp: Arc<VirtualDataPlane>) {
        self.vdp = vdp;
    }

    /// The data plane's state. What writes it bypasses the model.
    pub fn control(&self) -> &Control {
        self.vdp.control()
    }

    /// What was written with an entry.
    pub fn note(&self, key: &EntryKey) -> Option<&Note> {
        if self.notes.is_empty() { None } else { self.notes.get(key) }
    }

    /// What was written with a table's default entry.
    pub fn default_metadata(&self, table: TableId) -> Option<&Metadata> {
        self.default_metadata.get(&table)
    }

    /// Multicast groups by number.
    pub fn multicast_groups(&self) -> &BTreeMap<u32, MulticastGroup> {
        &self.groups
    }

    /// Clone sessions by number.
    pub fn clone_sessions(&self) -> &BTreeMap<u32, CloneSession> {
        &self.sessions
    }

    /// Digests.
    pub fn digests(&self) -> &Digests {
        &self.digests
    }

    /// Digests, to collect and acknowledge them.
    pub fn digests_mut(&mut self) -> &mut Digests {
        &mut self.digests
    }

    /// Values of translated types.
    pub fn translations(&self) -> &Translations {
        &self.translations
    }

    /// Sets the device's ports, which values of the type of ports name: names and numbers.
    pub fn set_ports(&mut self, ports: impl Iterator<Item = (String, u32)>) {
        self.translations.set_ports(ports);
    }

    /// Sets the CPU's port, which programs whose ports are translated may call by another number.
    pub fn set_cpu_port(&mut self, port: Option<u32>) {
        self.translations.set_cpu_port(port);
    }

    /// What packets that hit an entry run; `None` if there is no such entry.
    pub fn target(&self, (at, matches, priority): &EntryKey) -> Option<Target> {
        let table = &self.control()[*at];
        match self.vdp.pipeline()[*at].implementation {
            Some(_) => table.target(matches, *priority).map(Target::Profile),
            None => table.get(matches, *priority).map(Target::Action),
        }
    }

    /// The index of an entry in the registers that have a cell for each entry of its table.
    ///
    /// # Errors
    /// There is no such entry, or its table has no such registers.
    pub fn entry_index(&self, key: &Key) -> Result<u32> {
        let table = self.schema.table(key.table)?;
        let (at, matches, priority) = table.entry_key(key)?;
        self.control()[at].entry_index(&matches, priority).ok_or_else(|| table.no_entry())
    }

    /// The extern object with this id.
    ///
    /// # Errors
    /// There is none.
    pub fn extern_object(&self, id: u32) -> Result<ExternId> {
        let externs = &self.vdp.pipeline().externs;
        let at = externs.iter().position(|e| e.id.is_some_and(|known| known.0 == id));
        let at = at.ok_or_else(|| not_found(format!("the program has no object with id {id:#x}")))?;
        Ok(ExternId(at as u32))
    }

    /// Entries whose idle timeout has expired, of tables that have such a listener. Others are found once they have one.
    pub fn idle_entries(
        &mut self,
        listener: IdleListener,
        now: Instant,
        has_listener: impl Fn(u32) -> bool,
    ) -> Vec<IdleEntry> {
        let mut found = Vec::new();
        for (key, note) in &mut self.notes {
            let Some(idle) = &mut note.idle else { continue };
            let hits = self.vdp.control()[key.0].hits(&key.1, key.2);
            if hits != idle.hits {
                *idle = Idle { hits, last_hit: now, notified: [None; 2], timeout: idle.timeout };
                continue;
            }
            let notified = &mut idle.notified[listener as usize];
            let due = match (listener, *notified) {
                (IdleListener::Once, Some(_)) => continue,
                (_, before) => before.unwrap_or(idle.last_hit) + idle.timeout,
            };
            if now >= due && self.schema.table_at(key.0).is_some_and(|t| has_listener(t.id)) {
                *notified = Some(now);
                found.push(IdleEntry { key: key.clone(), metadata: note.metadata.clone(), timeout: idle.timeout });
            }
        }
        found
    }
}

/// Batches. A protocol's writes are decoded when it is their turn, with a function that translates values of translated types: values
/// that are new are given one of the data plane's.
impl Model {
    /// Applies each write, independently of the others.
    pub fn write_each<W, E: From<Error>>(
        &mut self,
        writes: &[W],
        decode: impl Fn(&Schema, &mut Translate<'_>, &W) -> std::result::Result<Update, E>,
    ) -> Vec<std::result::Result<(), E>> {
        let mut one = |write| {
            self.translations.begin();
            let done = self.write(write, &decode, None);
            done.inspect_err(|_| self.undo_translations())
        };
        writes.iter().map(&mut one).collect()
    }

    /// Applies all writes or none. `last` is done when they have been applied; if it fails they are undone.
    ///
    /// # Errors
    /// That of `last`. Those of writes are in what is returned: one write has its own, and the others are aborted.
    pub fn write_all<W, E: From<Error>>(
        &mut self,
        writes: &[W],
        decode: impl Fn(&Schema, &mut Translate<'_>, &W) -> std::result::Result<Update, E>,
        last: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<Vec<std::result::Result<(), E>>, E> {
        let mut inverse = Inverse::default();
        self.translations.begin();
        for (at, write) in writes.iter().enumerate() {
            if let Err(error) = self.write(write, &decode, Some(&mut inverse)) {
                self.undo(inverse);
                self.undo_translations();
                let aborted = || Err(aborted("another update of the batch failed").into());
                let mut results: Vec<_> = writes.iter().map(|_| aborted()).collect();
                results[at] = Err(error);
                return Ok(results);
            }
        }
        if let Err(error) = last() {
            self.undo(inverse);
            self.undo_translations();
            return Err(error);
        }
        Ok(writes.iter().map(|_| Ok(())).collect())
    }

    /// Makes a write completely or not at all. Without an inverse it is alone, and with one a part of a batch.
    fn write<W, E: From<Error>>(
        &mut self,
        write: &W,
        decode: impl Fn(&Schema, &mut Translate<'_>, &W) -> std::result::Result<Update, E>,
        inverse: Option<&mut Inverse>,
    ) -> std::result::Result<(), E> {
        let update = self.decode(|schema, translate| decode(schema, translate, write))?;
        let plan = self.plan(&update)?;
        Ok(self.carry_out(plan.0, inverse.map(|inverse| &mut inverse.0))?)
    }

    /// Makes updates, all or none.
    ///
    /// # Errors
    /// That of the first update that is refused.
    pub fn make_updates(&mut self, updates: &[Update]) -> Result<()> {
        let mut inverse = Inverse::default();
        let one = |update| self.plan(update).and_then(|plan| self.carry_out(plan.0, Some(&mut inverse.0)));
        let made = updates.iter().try_for_each(one);
        made.inspect_err(|_| self.undo(inverse))
    }

    /// Makes the changes of a plan, all or none.
    ///
    /// # Errors
    /// There is no room, or a device that runs the program refuses.
    pub fn apply(&mut self, plan: Plan) -> Result<Inverse> {
        let mut inverse = Inverse::default();
        self.carry_out(plan.0, Some(&mut inverse.0))?;
        Ok(inverse)
    }

    /// Makes the inverses of changes, the last one first.
    pub fn undo(&mut self, inverse: Inverse) {
        self.make_inverses(inverse.0);
    }

    /// Converts something in which values of translated types are, outside a batch. Nothing keeps what they are given.
    ///
    /// # Errors
    /// That of `convert`.
    pub fn translate<T, E: From<Error>>(
        &mut self,
        convert: impl Fn(&Schema, &mut Translate<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.translations.begin();
        self.translations.changed();
        self.decode(convert).inspect_err(|_| self.undo_translations())
    }

    /// Charges what translations take now.
    ///
    /// # Errors
    /// The tenant may not have the memory; nothing is charged then.
    fn charge_translations(&mut self) -> Result<()> {
        let now = self.translations.bytes();
        if now != self.translated_bytes {
            let exchanged = self.vdp.control().account().exchange(self.translated_bytes, now);
            exchanged.map_err(|exceeded| exhausted(exceeded.to_string()))?;
            self.translated_bytes = now;
        }
        Ok(())
    }

    /// Takes back what translations gave since they began, and what it is charged.
    fn undo_translations(&mut self) {
        self.translations.undo();
        // Undoing is not refused.
        self.charge_carried_translations();
    }

    /// Charges what there is already, whatever the limit is.
    fn charge_what_is_there(&mut self) {
        let vdp = self.vdp.clone();
        let account = vdp.control().account();
        let _ = account.undo(|| account.charge(self.bytes_of_writes()));
        self.charge_carried_translations();
    }

    /// Charges translations that come from elsewhere, whatever the limit is: what exceeds it is refused when a tenant is to have it.
    pub(crate) fn charge_carried_translations(&mut self) {
        let vdp = self.vdp.clone();
        let _ = vdp.control().account().undo(|| self.charge_translations());
    }

    fn decode<T, E: From<Error>>(
        &mut self,
        convert: impl Fn(&Schema, &mut Translate<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let schema = self.schema.clone();
        for last in [false, true] {
            let (translations, mut full) = (&mut self.translations, false);
            let mut translate = |place: Translated<'_>, value: &[u8]| match translations.give(place, value) {
                Ok(value) => Ok(value),
                Err(Untranslated::Invalid(error)) => Err(error),
                Err(Untranslated::Full) => {
                    full = true;
                    Err(translations.full(place))
                }
            };
            let converted = convert(&schema, &mut translate);
            if last || !full {
                let converted = converted?;
                self.charge_translations()?;
                return Ok(converted);
            }
            if self.translations.is_stale() {
                let used = self.used();
                self.translations.sweep(&used);
            } else if !self.translations.grow() {
                return converted;
            }
        }
        Err(exhausted("no value is free").into())
    }

    /// Converts something that a control plane asks for: `None` if it names a value that nothing has.
    ///
    /// # Errors
    /// That of `convert`.
    pub fn look_up<T, E: From<Error>>(
        &self,
        convert: impl FnOnce(&Schema, &mut Translate<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<Option<T>, E> {
        let mut known = true;
        let mut translate = |place: Translated<'_>, value: &[u8]| {
            let found = self.translations.find(place, value)?;
            known &= found.is_some();
            Ok(found.unwrap_or_default())
        };
        let converted = convert(&self.schema, &mut translate)?;
        Ok(known.then_some(converted))
    }
}

/// A program's model that several protocols write, each in its turn.
#[derive(Clone, Debug)]
pub struct SharedModel(Arc<Mutex<Model>>);

impl SharedModel {
    /// Shares a model.
    pub fn new(model: Model) -> SharedModel {
        SharedModel(Arc::new(Mutex::new(model)))
    }

    /// The model of a data plane that no other protocol controls.
    pub fn of(vdp: Arc<VirtualDataPlane>) -> SharedModel {
        SharedModel::new(Model::new(Arc::new(Schema::of(vdp.pipeline())), vdp))
    }

    /// Waits for the model.
    pub fn lock(&self) -> MutexGuard<'_, Model> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether both are the same model.
    pub fn is(&self, other: &SharedModel) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
