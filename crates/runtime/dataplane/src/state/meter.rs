//! Meters: one worker runs them without locks, any thread may set their rates.
//!
//! Setting rates replaces the meter by a new one with full buckets, so that the worker never sees a partial change.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hopwright_abi::{ExternHandle, METER_COLOR, NO_METER};
use hopwright_ir::Unit;
use hopwright_ir::meter::{Color, Meter, Rates};

use crate::offload::OnDevice;
use crate::sync::quiescence::Domain;

struct State {
    rates: Rates,
    meter: UnsafeCell<Meter>,
}

/// What a meter with rates takes.
pub(crate) const FOOTPRINT: u64 = (size_of::<MeterCell>() + size_of::<State>() + 24) as u64;

/// One meter. A meter without rates colours every packet green.
pub(crate) struct MeterCell(AtomicPtr<State>);

// SAFETY: only the one worker changes the state behind the pointer; other threads read `rates`, which is constant.
unsafe impl Send for MeterCell {}
// SAFETY: as above.
unsafe impl Sync for MeterCell {}

/// A replaced state, which readers may still use.
struct Retired(#[expect(dead_code, reason = "kept to be dropped later")] Box<State>);

// SAFETY: the only thing done with it is to drop it.
unsafe impl Send for Retired {}

impl MeterCell {
    pub(crate) fn new() -> MeterCell {
        MeterCell(AtomicPtr::default())
    }

    /// Sets or removes the rates. Callers must exclude concurrent calls of this method and of [`MeterCell::rates`].
    pub(crate) fn set(&self, rates: Option<Rates>, domain: &Domain) {
        let state = |rates| Box::into_raw(Box::new(State { rates, meter: UnsafeCell::new(Meter::new(rates)) }));
        let old = self.0.swap(rates.map_or(std::ptr::null_mut(), state), Ordering::AcqRel);
        if !old.is_null() {
            // SAFETY: `old` came from Box::into_raw and is unlinked; the worker may still use it, so it is retired.
            domain.retire(Retired(unsafe { Box::from_raw(old) }));
        }
    }

    /// Returns the rates. Callers must exclude concurrent calls of [`MeterCell::set`].
    pub(crate) fn rates(&self) -> Option<Rates> {
        let state = self.0.load(Ordering::Acquire);
        // SAFETY: null, or alive until the next call of `set`; the rates are constant.
        (!state.is_null()).then(|| unsafe { (*state).rates })
    }

    /// Runs the meter for a packet and returns its colour. `cost` is 1 or the packet's length in bytes, depending on
    /// the meter's unit.
    ///
    /// # Safety
    /// The caller is the only thread that runs the meter. It is inside the domain, or excludes calls of
    /// [`MeterCell::set`].
    pub(crate) unsafe fn execute(&self, now_us: u64, cost: u64) -> Color {
        let state = self.0.load(Ordering::Acquire);
        if state.is_null() {
            return Color::Green;
        }
        // SAFETY: the state is alive while the caller is inside the domain, and only the caller touches its meter.
        unsafe { (*(*state).meter.get()).execute(now_us, cost) }
    }

    /// The colour that [`MeterCell::execute`] would return.
    ///
    /// # Safety
    /// As for [`MeterCell::execute`].
    unsafe fn color(&self, now_us: u64, cost: u64) -> Color {
        let state = self.0.load(Ordering::Acquire);
        if state.is_null() {
            return Color::Green;
        }
        // SAFETY: as in `execute`.
        unsafe { (*(*state).meter.get()).color(now_us, cost) }
    }

    /// Runs a method that generated code calls.
    ///
    /// # Safety
    /// As for [`MeterCell::execute`].
    unsafe fn call(&self, method: u32, now_us: u64, cost: u64) -> Color {
        // SAFETY: the caller's promise.
        unsafe {
            match method {
                METER_COLOR => self.color(now_us, cost),
                _ => self.execute(now_us, cost),
            }
        }
    }

    /// The address stored in table entries.
    pub(crate) fn address(&self) -> u64 {
        std::ptr::from_ref(self).expose_provenance() as u64
    }
}

impl Drop for MeterCell {
    fn drop(&mut self) {
        let state = *self.0.get_mut();
        if !state.is_null() {
            // SAFETY: `self` owns the state; exclusive access means that no worker has it.
            drop(unsafe { Box::from_raw(state) });
        }
    }
}

/// An array of indirect meters, or the common properties of a table's direct meters.
pub(crate) struct Meters {
    unit: Unit,
    /// True for direct meters, whose cells are in table entries.
    direct: bool,
    cells: Box<[MeterCell]>,
    domain: Arc<Domain>,
    /// Bytes that a packet has beside its own: of frames, and what a control plane adds or subtracts.
    frame: AtomicI64,
    adjustment: AtomicI64,
    /// Held while rates are set or read.
    writers: Mutex<()>,
    /// What runs the meters, if it is a device.
    pub(crate) device: OnDevice,
}

impl Meters {
    /// Creates `count` indirect meters.
    pub(crate) fn indirect(unit: Unit, count: usize, domain: &Arc<Domain>) -> Box<Meters> {
        // SAFETY: zeroed cells are null pointers: meters without rates.
        let cells = unsafe { Box::new_zeroed_slice(count).assume_init() };
        Box::new(Meters {
            unit,
            direct: false,
            cells,
            domain: domain.clone(),
            frame: AtomicI64::new(0),
            adjustment: AtomicI64::new(0),
            writers: Mutex::new(()),
            device: OnDevice::default(),
        })
    }

    /// Creates the common part of a table's direct meters.
    pub(crate) fn direct(unit: Unit, domain: &Arc<Domain>) -> Box<Meters> {
        Box::new(Meters { direct: true, ..*Meters::indirect(unit, 0, domain) })
    }

    /// Returns the handle that generated code uses.
    pub(crate) fn handle(&self) -> ExternHandle {
        let call = if self.direct { execute_direct } else { execute };
        ExternHandle { state: std::ptr::from_ref(self).cast_mut().cast(), size: 0, call: Some(call) }
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Sets or removes the rates of a meter. Panics if the index is out of range.
    pub(crate) fn set(&self, index: usize, rates: Option<Rates>) {
        let _writer = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        self.cells[index].set(rates, &self.domain);
    }

    /// Returns the rates of a meter. Panics if the index is out of range.
    pub(crate) fn rates(&self, index: usize) -> Option<Rates> {
        let _writer = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        self.cells[index].rates()
    }

    /// Runs a meter for a packet and returns its colour. Panics if the index is out of range.
    ///
    /// # Safety
    /// No worker runs this meter at the same time.
    pub(crate) unsafe fn measure(&self, index: usize, now_us: u64, cost: u64) -> Color {
        let _writer = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller is the only thread that runs the meter, and the lock excludes changes of its rates.
        unsafe { self.cells[index].execute(now_us, cost) }
    }

    /// Bytes of a frame that are not in packets.
    pub(crate) fn set_frame(&self, bytes: u8) {
        self.frame.store(bytes.into(), Ordering::Relaxed);
    }

    /// Bytes that are added to the length of each packet.
    pub(crate) fn adjustment(&self) -> i32 {
        self.adjustment.load(Ordering::Relaxed) as i32
    }

    pub(crate) fn set_adjustment(&self, bytes: i32) {
        self.adjustment.store(bytes.into(), Ordering::Relaxed);
    }

    /// What a packet costs for which the program says 1 or this many bytes.
    pub(crate) fn cost(&self, bytes: u64) -> u64 {
        if self.unit == Unit::Packets {
            return 1;
        }
        bytes.saturating_add_signed(self.frame.load(Ordering::Relaxed) + self.adjustment.load(Ordering::Relaxed))
    }
}

impl fmt::Debug for Meters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meters").field("unit", &self.unit).field("cells", &self.cells.len()).finish_non_exhaustive()
    }
}

/// Called by generated code for indirect meters: takes the index, the time and the packet's length in bytes; returns
/// the colour, or [`NO_METER`] if the index is out of range.
unsafe extern "C" fn execute(state: *mut c_void, method: u32, args: *mut u64) {
    // SAFETY: `state` is from a handle of [`Meters`], which outlives the program; `args` has three words; the caller is
    // the worker.
    unsafe {
        let meters = &*state.cast::<Meters>();
        let [index, now_us, bytes] = args.cast::<[u64; 3]>().read();
        let color = match usize::try_from(index).ok().and_then(|i| meters.cells.get(i)) {
            Some(cell) => cell.call(method, now_us, meters.cost(bytes)) as u64,
            None => NO_METER,
        };
        args.write(color);
    }
}

/// Called by generated code for direct meters: takes the address of a [`MeterCell`] or zero, the time and the packet's
/// length in bytes; returns the colour.
unsafe extern "C" fn execute_direct(state: *mut c_void, method: u32, args: *mut u64) {
    // SAFETY: as for `execute`; the address is from an entry that was just found, which keeps its meter alive.
    unsafe {
        let meters = &*state.cast::<Meters>();
        let [address, now_us, bytes] = args.cast::<[u64; 3]>().read();
        let cell = std::ptr::with_exposed_provenance::<MeterCell>(address as usize);
        let color = if cell.is_null() { Color::Green } else { (*cell).call(method, now_us, meters.cost(bytes)) };
        args.write(color as u64);
    }
}
