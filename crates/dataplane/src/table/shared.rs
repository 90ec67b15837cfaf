//! Entry blocks shared by entries with the same action, such as routes to the same next hop.
//!
//! Only tables whose lookups do not read an entry's key, and whose entries are nothing but an action, share blocks. A million
//! routes then read as many cache lines of entries as there are next hops.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hopwright_abi::ActionEntry;
use hopwright_ir::ActionCall;

use super::block::Block;

/// The memory of an entry.
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
    /// The action entry.
    pub(super) fn entry(&self) -> *const ActionEntry {
        (**self).entry()
    }
}

/// Entries by what they do, and how many share each.
#[derive(Default)]
pub(super) struct SharedBlocks {
    blocks: HashMap<ActionCall, (Arc<Block>, usize), RandomState>,
}

impl SharedBlocks {
    /// The entry for an action, made if there is none.
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

    /// An entry with this action is given up. What it had still is to be kept for readers.
    pub(super) fn give_up(&mut self, action: &ActionCall) {
        if let Some((_, sharers)) = self.blocks.get_mut(action) {
            *sharers -= 1;
            if *sharers == 0 {
                self.blocks.remove(action);
            }
        }
    }
}
