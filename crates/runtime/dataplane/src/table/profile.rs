//! Members and groups of action profiles and selectors, as generated code reads them.
//!
//! An entry of a table with a profile points to a [`Choice`], which holds a snapshot of members and weights. A hash
//! selects one of the members. A member is a cell that points to an action entry. Modifying a member or a group is
//! therefore a single store, however many entries refer to it. Readers never wait.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hopwright_abi::{ActionEntry, MEMBER_LEAD_WORDS};
use hopwright_ir::profile::{Profile, ProfileError};
use hopwright_ir::{ActionCall, EntryTarget, ExternId, Group, Pipeline, TableId};

use super::block::{Block, Contents, Rank, Shape, action_data};
use crate::sync::quiescence::Domain;

/// A member: a cell that points to its action entry.
struct Member {
    entry: AtomicPtr<ActionEntry>,
    /// Owns the action entry. Only writers use it.
    block: Mutex<Block>,
}

impl Member {
    fn new(block: Block) -> Arc<Member> {
        Arc::new(Member { entry: AtomicPtr::new(block.entry().cast_mut()), block: Mutex::new(block) })
    }

    fn set(&self, block: Block, domain: &Domain) {
        let mut old = self.block.lock().unwrap_or_else(PoisonError::into_inner);
        self.entry.store(block.entry().cast_mut(), Ordering::Release);
        domain.retire(std::mem::replace(&mut *old, block));
    }
}

/// Members with the running sums of their weights.
#[derive(Default)]
struct Snapshot {
    ends: Vec<u64>,
    members: Vec<Arc<Member>>,
}

impl Snapshot {
    fn of(members: impl Iterator<Item = (Arc<Member>, u32)>) -> Snapshot {
        let mut snapshot = Snapshot::default();
        let mut end = 0;
        for (member, weight) in members {
            end += u64::from(weight);
            snapshot.ends.push(end);
            snapshot.members.push(member);
        }
        snapshot
    }
}

/// The target of an entry: a replaceable snapshot.
pub(super) struct Choice(AtomicPtr<Snapshot>);

impl Choice {
    fn new(snapshot: Snapshot) -> Arc<Choice> {
        Arc::new(Choice(AtomicPtr::new(Box::into_raw(Box::new(snapshot)))))
    }

    fn set(&self, snapshot: Snapshot, domain: &Domain) {
        let old = self.0.swap(Box::into_raw(Box::new(snapshot)), Ordering::AcqRel);
        // SAFETY: `old` came from Box::into_raw and is unlinked; readers may still use it, so it is retired.
        domain.retire(unsafe { Box::from_raw(old) });
    }

    /// The address stored in entries.
    pub(super) fn address(&self) -> u64 {
        std::ptr::from_ref(self).expose_provenance() as u64
    }

    /// Returns the entry that a hash selects, null if there are no members.
    ///
    /// # Safety
    /// The caller is inside the profile's domain and stays there while it uses the entry.
    unsafe fn pick(&self, hash: u64) -> *const ActionEntry {
        // SAFETY: never null; a snapshot lives until all readers that may have loaded it are quiescent.
        let snapshot = unsafe { &*self.0.load(Ordering::Acquire) };
        let Some(at) = snapshot.ends.last().and_then(|sum| hash.checked_rem(*sum)) else { return std::ptr::null() };
        match snapshot.members.get(snapshot.ends.partition_point(|end| *end <= at)) {
            Some(member) => member.entry.load(Ordering::Acquire),
            None => std::ptr::null(),
        }
    }
}

impl Drop for Choice {
    fn drop(&mut self) {
        // SAFETY: `self` owns the current snapshot; exclusive access means no reader has it.
        drop(unsafe { Box::from_raw(*self.0.get_mut()) });
    }
}

/// Called by generated code: `args[0]` is the address of a [`Choice`] and is replaced by that of the selected entry, or
/// zero; `args[1]` is the hash.
pub(crate) unsafe extern "C" fn choose(_: *mut c_void, _: u32, args: *mut u64) {
    // SAFETY: generated code passes two words, the first of which is the address of a choice in an entry it just found.
    // The choice lives until the batch ends.
    unsafe {
        let choice = &*std::ptr::with_exposed_provenance::<Choice>(args.read() as usize);
        args.write(choice.pick(args.add(1).read()) as u64);
    }
}

/// An action profile or selector of a running program.
pub(crate) struct Profiles {
    pipeline: Arc<Pipeline>,
    domain: Arc<Domain>,
    inner: Mutex<Inner>,
}

struct Inner {
    book: Profile,
    members: HashMap<u32, (Arc<Member>, Arc<Choice>)>,
    groups: HashMap<u32, Arc<Choice>>,
}

impl Profiles {
    /// Creates an empty profile. Returns `None` if the object is neither an action profile nor a selector.
    pub(crate) fn new(pipeline: &Arc<Pipeline>, id: ExternId, domain: &Arc<Domain>) -> Option<Arc<Profiles>> {
        let book = Profile::new(pipeline, id)?;
        let inner = Inner { book, members: HashMap::new(), groups: HashMap::new() };
        Some(Arc::new(Profiles { pipeline: pipeline.clone(), domain: domain.clone(), inner: Mutex::new(inner) }))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn block(&self, action: &ActionCall) -> Block {
        let mut data = vec![0; MEMBER_LEAD_WORDS];
        data.extend(action_data(action, &self.pipeline));
        let contents = Contents {
            rank: Rank { priority: 0, earliness: 0 },
            key: &[],
            bounds: &[],
            action: action.action.0,
            hit: 1,
            counter: std::ptr::null_mut(),
            data: &data,
        };
        Block::new(Shape::ALONE, &contents, None)
    }

    /// Calls `f` with the members and groups.
    pub(crate) fn read<T>(&self, f: impl FnOnce(&Profile) -> T) -> T {
        f(&self.lock().book)
    }

    pub(crate) fn insert_member(&self, id: u32, action: ActionCall) -> Result<(), ProfileError> {
        let mut inner = self.lock();
        inner.book.insert_member(&self.pipeline, id, action.clone())?;
        let member = Member::new(self.block(&action));
        let single = Choice::new(Snapshot::of([(member.clone(), 1)].into_iter()));
        inner.members.insert(id, (member, single));
        Ok(())
    }

    pub(crate) fn modify_member(&self, id: u32, action: ActionCall) -> Result<(), ProfileError> {
        let mut inner = self.lock();
        inner.book.modify_member(&self.pipeline, id, action.clone())?;
        if let Some((member, _)) = inner.members.get(&id) {
            member.set(self.block(&action), &self.domain);
        }
        Ok(())
    }

    pub(crate) fn delete_member(&self, id: u32) -> Result<(), ProfileError> {
        let mut inner = self.lock();
        inner.book.delete_member(id)?;
        self.domain.retire(inner.members.remove(&id));
        Ok(())
    }

    pub(crate) fn insert_group(&self, id: u32, group: Group) -> Result<(), ProfileError> {
        let mut inner = self.lock();
        let snapshot = inner.snapshot(&group);
        inner.book.insert_group(id, group)?;
        inner.groups.insert(id, Choice::new(snapshot));
        Ok(())
    }

    pub(crate) fn modify_group(&self, id: u32, group: Group) -> Result<(), ProfileError> {
        let mut inner = self.lock();
        let snapshot = inner.snapshot(&group);
        inner.book.modify_group(&self.pipeline, id, group)?;
        if let Some(choice) = inner.groups.get(&id) {
            choice.set(snapshot, &self.domain);
        }
        Ok(())
    }

    pub(crate) fn delete_group(&self, id: u32) -> Result<(), ProfileError> {
        let mut inner = self.lock();
        inner.book.delete_group(id)?;
        self.domain.retire(inner.groups.remove(&id));
        Ok(())
    }

    /// Returns the choice for a target of a table's entry, and the first of its actions if there is one. The target counts
    /// as referenced until [`Profiles::release`].
    pub(super) fn acquire(
        &self,
        table: TableId,
        to: &EntryTarget,
    ) -> Result<(Arc<Choice>, Option<ActionCall>), ProfileError> {
        let mut inner = self.lock();
        inner.book.check_target(&self.pipeline, table, to)?;
        inner.book.count(table, to, true);
        let first = inner.book.actions(to).first().map(|(action, _)| (*action).clone());
        let choice = match to {
            EntryTarget::Member(id) => inner.members.get(id).map(|(_, single)| single.clone()),
            EntryTarget::Group(id) => inner.groups.get(id).cloned(),
            EntryTarget::Set(set) => {
                let members = set.iter().map(|a| (Member::new(self.block(&a.action)), a.weight));
                Some(Choice::new(Snapshot::of(members)))
            }
        };
        // Every member and group in the book has a choice.
        Ok((choice.unwrap_or_else(|| Choice::new(Snapshot::default())), first))
    }

    /// Drops a reference that [`Profiles::acquire`] counted.
    pub(super) fn release(&self, table: TableId, from: &EntryTarget) {
        self.lock().book.count(table, from, false);
    }
}

impl Inner {
    fn snapshot(&self, group: &Group) -> Snapshot {
        let members = group.members.iter();
        Snapshot::of(members.filter_map(|(id, weight)| Some((self.members.get(id)?.0.clone(), *weight))))
    }
}

impl fmt::Debug for Profiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.lock();
        f.debug_struct("Profiles")
            .field("members", &inner.members.len())
            .field("groups", &inner.groups.len())
            .finish_non_exhaustive()
    }
}
