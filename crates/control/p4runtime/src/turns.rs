//! Bounds what the requests of one device's clients cost the clients of others: how many are carried out at a time, and how many
//! bytes of requests wait.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::{Result, exhausted};

/// The most simultaneous requests that read, write or compile; others wait.
const AT_A_TIME: usize = 2;
/// The most simultaneous answers to reads that are being sent.
const MAX_ANSWERS: usize = 32;
/// What is counted of a request that waits, in bytes.
const UNIT: usize = 1 << 10;
/// The most bytes of requests that wait or are being carried out.
const MAX_BYTES: usize = 256 << 20;

/// The turns of one device's requests.
#[derive(Debug)]
pub(crate) struct Turns {
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    answers: Arc<Semaphore>,
}

/// A place in a queue, or a turn; dropping it makes room for the next.
pub(crate) type Place = OwnedSemaphorePermit;

impl Default for Turns {
    fn default() -> Turns {
        Turns {
            running: Arc::new(Semaphore::new(AT_A_TIME)),
            waiting: Arc::new(Semaphore::new(MAX_BYTES / UNIT)),
            answers: Arc::new(Semaphore::new(MAX_ANSWERS)),
        }
    }
}

impl Turns {
    /// A place for a request of this size, in bytes, while it waits and is carried out.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if too much waits already.
    pub(crate) fn queue(&self, bytes: usize) -> Result<Place> {
        let units = bytes.div_ceil(UNIT).clamp(1, MAX_BYTES / UNIT) as u32;
        let place = self.waiting.clone().try_acquire_many_owned(units);
        place.map_err(|_| exhausted("too many requests for this device wait to be carried out"))
    }

    /// A place for the answer to a read, while it is being sent.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if there are too many.
    pub(crate) fn answer(&self) -> Result<Place> {
        let place = self.answers.clone().try_acquire_owned();
        place.map_err(|_| exhausted(format!("{MAX_ANSWERS} reads of this device are being answered already")))
    }

    /// All turns, if none is taken.
    pub(crate) fn all(&self) -> Option<Place> {
        self.running.clone().try_acquire_many_owned(AT_A_TIME as u32).ok()
    }

    /// Waits for the turn of a request.
    pub(crate) async fn wait(&self) -> Option<Place> {
        // The semaphore is never closed.
        self.running.clone().acquire_owned().await.ok()
    }
}
