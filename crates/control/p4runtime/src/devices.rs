//! The devices of a server for a service of another protocol, which has the rights, limits and state of P4Runtime's.

use std::sync::Arc;

use ::bytes::Bytes;
use hopwright_control::{Model, Schema, SharedModel, Translate, Update};
use hopwright_dataplane::Digest;
use hopwright_driver::Hashes;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tonic::Status;

use crate::access::Caller;
use crate::codec;
use crate::device::{Device, lock, no_program};
use crate::failure::{Failure, Result, denied, exhausted, invalid, precondition, unimplemented};
use crate::program::Program;
use crate::proto::config::P4Info;
use crate::proto::v1;
use crate::read::{self, TablePage};
use crate::role::Rights;
use crate::service::Service;
use crate::state::State;
use v1::write_request::Atomicity;

/// Digests that wait for a listener; further ones are lost to it.
const DIGESTS_WAITING: usize = 4096;
/// Who listens to a device's digests at most.
const MAX_LISTENERS: usize = 64;

/// The devices of a server ([`crate::Server::start_with`]). Clients reach them if P4Runtime's rights allow them the default role.
#[derive(Clone)]
pub struct Devices(Service);

/// What packets see of a batch while it is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packets {
    /// They may meet a part of its changes.
    MeetParts,
    /// They meet all of its changes or none, and wait meanwhile.
    MeetAllOrNothing,
}

impl Packets {
    fn atomicity(self) -> Atomicity {
        match self {
            Packets::MeetParts => Atomicity::RollbackOnError,
            Packets::MeetAllOrNothing => Atomicity::DataplaneAtomic,
        }
    }
}

/// A program that a device runs.
#[derive(Clone, Debug)]
pub struct Running {
    /// Its number: no other program of this process has it, not even the same one started again.
    pub generation: u64,
    /// The name of its main file.
    pub name: String,
    /// Its objects.
    pub info: P4Info,
}

impl std::fmt::Debug for Devices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Devices").field(&self.0.registry().devices()).finish()
    }
}

impl Devices {
    pub(crate) fn new(service: Service) -> Devices {
        Devices(service)
    }

    /// The device of this id that the caller of a request with these extensions may control. Device 0 is the only device of a server,
    /// if there is no other: that is how controllers of one switch call it.
    ///
    /// # Errors
    /// `NOT_FOUND`, `PERMISSION_DENIED`, or `UNAVAILABLE` while nobody has rights yet.
    pub fn reach(&self, request: &http::Extensions, id: u64) -> Result<Arc<Device>> {
        let (caller, registry) = (Caller::of(request), self.0.registry());
        let reached = registry.reach(&caller, id).or_else(|failure| match registry.devices().as_slice() {
            [only] if id == 0 => registry.reach(&caller, only.id()),
            _ => Err(failure),
        })?;
        reached.check_role("")?;
        Ok(reached.device)
    }

    /// Checks that the caller may see what all devices of the server share, and change it if `to_change`.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` for clients that may not reach all devices, or, to change something, have some roles only; `UNAVAILABLE`
    /// while nobody has rights yet.
    pub fn oversee(&self, request: &http::Extensions, to_change: bool) -> Result<()> {
        let grant = self.0.registry().oversee(&Caller::of(request))?;
        match !to_change || grant.role("") {
            true => Ok(()),
            false => Err(denied("this client may not have the default role, which changes need")),
        }
    }

    /// The ids of all devices.
    pub fn ids(&self) -> Vec<u64> {
        self.0.registry().devices().iter().map(|device| device.id()).collect()
    }

    /// Checks that the caller may replace a device's program.
    ///
    /// # Errors
    /// `PERMISSION_DENIED`, and as [`Devices::reach`].
    pub fn check_push(&self, request: &http::Extensions, device: &Device) -> Result<()> {
        match self.0.registry().reach(&Caller::of(request), device.id())?.grant.programs {
            true => Ok(()),
            false => Err(denied("this client may not replace the program")),
        }
    }

    /// Waits until the caller may no longer reach a device.
    pub async fn revoked(&self, request: &http::Extensions, device: &Arc<Device>) {
        let caller = Caller::of(request);
        let mut changes = self.0.registry().changes();
        while self.0.registry().check(&caller, device, "").is_ok() {
            changes.next().await;
        }
    }

    /// A place for a stream of the caller, until it is dropped.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if the caller has too many.
    pub fn stream(&self, request: &http::Extensions) -> Result<OwnedSemaphorePermit> {
        let streams = self.0.registry().streams(&Caller::of(request))?;
        streams.try_acquire_owned().map_err(|_| exhausted("too many streams"))
    }

    /// A place for an answer to a read, while it is being sent.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if there are too many.
    pub fn answer(&self, device: &Device) -> Result<OwnedSemaphorePermit> {
        device.turns().answer()
    }

    /// A place for a request of this many bytes that consists of several works, until it is dropped.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if too much waits already.
    pub fn place(&self, device: &Device, bytes: usize) -> Result<OwnedSemaphorePermit> {
        device.turns().queue(bytes)
    }

    /// Carries out a request of this many bytes on a thread that may block, when it is its turn.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if too much waits already, and those of `work`.
    pub async fn work<T: Send + 'static>(
        &self,
        device: Arc<Device>,
        bytes: usize,
        work: impl FnOnce(&Device) -> std::result::Result<T, Status> + Send + 'static,
    ) -> std::result::Result<T, Status> {
        let _place = device.turns().queue(bytes).map_err(Failure::status)?;
        self.0.work(device, work).await
    }
}

impl Device {
    /// The program that the device runs, unless its number is `known`.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if there is none.
    pub fn running_since(&self, known: Option<u64>) -> Result<Option<Running>> {
        let state = lock(&self.state);
        let state = state.as_ref().ok_or_else(no_program)?;
        if known == Some(state.generation) {
            return Ok(None);
        }
        let info = state.program.config.p4info.clone().unwrap_or_default();
        Ok(Some(Running { generation: state.generation, name: state.program.pipeline.name.clone(), info }))
    }

    /// The config of the program: P4 text or a [`crate::Bundle`].
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if there is none.
    pub fn device_config(&self) -> Result<Bytes> {
        Ok(self.config()?.p4_device_config)
    }

    /// Has the program compute these of its hashes as these configurations say, and all others as they are declared. The tables and
    /// objects stay as they are; each packet is processed with all hashes as they were, or with all as they are then.
    ///
    /// # Errors
    /// The device runs another program than that of this generation ([`Running`]), can only be read, or cannot run the program so; nothing
    /// was changed then.
    pub fn configure_hashes(&self, generation: u64, hashes: &Hashes) -> Result<()> {
        self.check_writable()?;
        let _making = lock(&self.making);
        let other = || precondition("the program has been replaced meanwhile");
        let current = |state: &Option<State>| {
            let state = state.as_ref().filter(|state| state.generation == generation)?;
            Some((state.program.clone(), self.tenant().vdp()))
        };
        let (mut program, before) = current(&lock(&self.state)).ok_or_else(other)?;
        // It is compiled while others use the device.
        program.pipeline = Arc::new(program.with_hashes(hashes)?);
        let changed = before.recoded(program.pipeline.clone());
        let changed = changed.map_err(|error| unimplemented(error.text(&program.pipeline)))?;
        let mut state = lock(&self.state);
        let state = state.as_mut().filter(|state| state.generation == generation).ok_or_else(other)?;
        if let Err(error) = self.tenant().recode(changed.clone()) {
            // Workers that have taken it up already go back.
            let _ = self.tenant().recode(before);
            return Err(exhausted(error.to_string()));
        }
        state.program = program;
        state.hashes = hashes.keys().cloned().collect();
        state.model.lock().recode(changed);
        Ok(())
    }

    /// The names of the hashes that [`Device::configure_hashes`] has changed.
    pub fn changed_hashes(&self) -> Vec<String> {
        lock(&self.state).as_ref().map(|state| state.hashes.clone()).unwrap_or_default()
    }

    /// Notes what clients of another protocol have written to the program of this generation that only its service knows: another process
    /// does not have it.
    pub fn note_beside(&self, generation: u64, written: Vec<&'static str>) {
        if let Some(state) = lock(&self.state).as_mut().filter(|state| state.generation == generation) {
            state.beside = written;
        }
    }

    /// What [`Device::note_beside`] has noted.
    pub fn beside(&self) -> Vec<&'static str> {
        lock(&self.state).as_ref().map(|state| state.beside.clone()).unwrap_or_default()
    }

    /// Checks that the device can run a program, given as P4 text or a [`crate::Bundle`].
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with the compiler's messages.
    pub fn verify(&self, device_config: &[u8]) -> Result<()> {
        let _making = lock(&self.making);
        self.data_plane(&self.program_of(device_config)?).map(drop)
    }

    /// Runs a program, given as P4 text or a [`crate::Bundle`], with empty tables.
    ///
    /// # Errors
    /// As [`Device::verify`].
    pub fn replace_program(&self, device_config: &[u8]) -> Result<()> {
        self.check_writable()?;
        let _making = lock(&self.making);
        self.commit(self.program_of(device_config)?, false)
    }

    fn program_of(&self, device_config: &[u8]) -> Result<Program> {
        if device_config.is_empty() {
            return Err(invalid("the program is missing: it is P4 source text or a bundle of this switch"));
        }
        let p4_device_config = Bytes::copy_from_slice(device_config);
        Program::from_config(&v1::ForwardingPipelineConfig { p4_device_config, ..Default::default() })
    }

    /// Applies a batch, all or nothing, as a controller of the default role does; returns what became of each update. `last` is done
    /// when all of them have been applied; if it fails they are undone.
    ///
    /// # Errors
    /// If there is no program, the device can only be read, or that of `last`.
    pub fn write_batch(
        &self,
        updates: &[Update],
        packets: Packets,
        last: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<Result<()>>> {
        self.check_writable()?;
        let rights: Rights = self.elections().rights("");
        let decode = |_: &Schema, _: &mut Translate<'_>, update: &Update| {
            rights.check_write(update.entity.object())?;
            codec::check_copies(&update.entity)?;
            Ok(update.clone())
        };
        self.apply(updates, packets.atomicity(), decode, last)
    }

    /// Applies a batch of P4Runtime's updates in the same way.
    ///
    /// # Errors
    /// If there is no program, or the device can only be read.
    pub fn write_messages(&self, updates: &[v1::Update], packets: Packets) -> Result<Vec<Result<()>>> {
        self.check_writable()?;
        let rights = self.elections().rights("");
        self.apply_messages(&rights, updates, packets.atomicity())
    }

    /// Reads what a P4Runtime entity asks for, as a controller of the default role may.
    ///
    /// # Errors
    /// If the role may not read it, there is no such object or no program.
    pub fn read_entity(&self, asked: &v1::entity::Entity) -> Result<Vec<v1::entity::Entity>> {
        self.read_as("", asked)
    }

    /// Reads some of a table's entries, as a controller of the default role may: of those that `fits` accepts, `count` after the first
    /// `skip`. Without `fits` all of them are accepted, and only those that are returned are converted.
    ///
    /// # Errors
    /// As [`Device::read_entity`].
    pub fn table_page(
        &self,
        table: u32,
        fits: Option<&mut dyn FnMut(&v1::TableEntry) -> bool>,
        skip: usize,
        count: usize,
    ) -> Result<TablePage> {
        self.elections().rights("").check_read(Some(table))?;
        let state = lock(&self.state);
        read::page(&state.as_ref().ok_or_else(no_program)?.model.lock(), table, fits, skip, count)
    }

    /// Whether a control plane can write.
    pub fn is_writable(&self) -> bool {
        self.check_writable().is_ok()
    }

    /// Looks at the control model for an object, as a controller of the default role may. Without an object, it is for what has no id.
    ///
    /// # Errors
    /// If the role may not read the object, there is no program, or that of `look`.
    pub fn read_model<T>(&self, object: Option<u32>, look: impl FnOnce(&Model) -> Result<T>) -> Result<T> {
        self.elections().rights("").check_read(object)?;
        let state = lock(&self.state);
        look(&state.as_ref().ok_or_else(no_program)?.model.lock())
    }

    /// The control model of the program, for other protocols, if there is a program.
    pub fn model(&self) -> Option<SharedModel> {
        lock(&self.state).as_ref().map(|state| state.model.clone())
    }

    /// Applies a setting to an extern object with this id; see [`hopwright_dataplane::NativeExtern::control`].
    ///
    /// # Errors
    /// If the object does not take it, or there is no program.
    pub fn control_extern(&self, id: u32, setting: &str, data: &[u8]) -> Result<()> {
        self.check_writable()?;
        let state = lock(&self.state);
        let state = state.as_ref().ok_or_else(no_program)?;
        let model = state.model.lock();
        let object = model.control().named_extern(model.extern_object(id)?)?;
        object.control(setting, data).map_err(|e| invalid(e.to_string()))
    }

    /// Digests from now on, besides those that P4Runtime sends.
    pub fn listen_to_digests(&self) -> mpsc::Receiver<Digest> {
        let (to, from) = mpsc::channel(DIGESTS_WAITING);
        let mut listeners = lock(&self.listeners);
        listeners.retain(|l| !l.is_closed());
        if listeners.len() < MAX_LISTENERS {
            listeners.push(to);
        }
        from
    }

    /// Hands a digest to all listeners.
    pub(crate) fn forward_digest(&self, digest: &Digest) {
        let mut listeners = lock(&self.listeners);
        if !listeners.is_empty() {
            listeners.retain(|l| !l.is_closed());
            listeners.iter().for_each(|l| drop(l.try_send(digest.clone())));
        }
    }
}
