//! Entry blocks shared by entries with the same action, such as routes to the same next hop.
//!
//! A table shares blocks if its lookups do not read keys in them and its entries have no state of their own. A million
//! routes then occupy as many cache lines as there are next hops.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hopwright_abi::ActionEntry;
use hopwright_ir::ActionCall;

use super::block::Block;

/// The memory of an entry: a block of its own or a shared one.
#[derive(Debug)]
pub(super) enum EntryMemory {
    Own(Block),
    Shared(Arc<Block>),
}

impl std::ops::Deref for EntryMemory {
    type Target = Block;

    fn deref(&self) -> &Block {
        match self {
            EntryMemory::Own(block) => block,
            EntryMemory::Shared(block) => block,
        }
    }
}

impl EntryMemory {
    /// The address of the action entry.
    pub(super) fn entry(&self) -> *const ActionEntry {
        (**self).entry()
    }
}

/// Blocks by action, with the number of entries that use each.
#[derive(Default)]
pub(super) struct SharedBlocks {
    blocks: HashMap<ActionCall, (Arc<Block>, usize), RandomState>,
}

impl SharedBlocks {
    /// Returns the block of an action, which `make` creates if there is none, and counts one more user.
    pub(super) fn take(&mut self, action: &ActionCall, make: impl FnOnce() -> Block) -> EntryMemory {
        if let Some((block, sharers)) = self.blocks.get_mut(action) {
            *sharers += 1;
            return EntryMemory::Shared(block.clone());
        }
        let block = Arc::new(make());
        self.blocks.insert(action.clone(), (block.clone(), 1));
        EntryMemory::Shared(block)
    }

    /// Number of blocks.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Uncounts a user of an action's block. The caller must keep its [`EntryMemory`] alive until readers are
    /// quiescent.
    pub(super) fn release(&mut self, action: &ActionCall) {
        if let Some((_, sharers)) = self.blocks.get_mut(action) {
            *sharers -= 1;
            if *sharers == 0 {
                self.blocks.remove(action);
            }
        }
    }
}
