//! The devices of a server and who may reach them. Both change while it runs; streams are notified.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{Semaphore, watch};

use crate::access::{Access, Caller, Grant};
use crate::device::Device;
use crate::failure::{Result, denied, not_found, unavailable};

/// The most streams of one client, or of all clients together if everybody may connect, that have not yet asked for a device.
const MAX_STREAMS: usize = 64;
/// The most long messages that are received at a time of one client, or of all together if everybody may connect.
const MAX_UPLOADS: usize = 2;

/// A server's devices.
#[derive(Debug)]
pub(crate) struct Registry(watch::Sender<Entries>);

#[derive(Debug)]
struct Entries {
    devices: BTreeMap<u64, Arc<Device>>,
    access: Access,
    /// By client name; the empty name is of everybody else.
    quotas: BTreeMap<String, Quota>,
}

/// What a client may do at a time.
#[derive(Clone, Debug)]
struct Quota {
    streams: Arc<Semaphore>,
    uploads: Arc<Semaphore>,
}

impl Default for Quota {
    fn default() -> Quota {
        Quota { streams: Arc::new(Semaphore::new(MAX_STREAMS)), uploads: Arc::new(Semaphore::new(MAX_UPLOADS)) }
    }
}

/// A device, and what the caller who asked for it may do.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    pub device: Arc<Device>,
    pub grant: Grant,
}

impl Reached {
    /// Checks that the caller may have a role.
    ///
    /// # Errors
    /// `PERMISSION_DENIED`.
    pub(crate) fn check_role(&self, role: &str) -> Result<()> {
        match self.grant.role(role) {
            true => Ok(()),
            false if role.is_empty() => Err(denied("this client may not have the default role")),
            false => Err(denied(format!("this client may not have the role `{role}`"))),
        }
    }
}

impl Entries {
    /// # Errors
    /// `UNAVAILABLE` while nobody has rights yet.
    fn is_open(&self) -> Result<()> {
        match self.access {
            Access::Later => Err(unavailable("the switch is starting")),
            _ => Ok(()),
        }
    }

    fn reach(&self, caller: &Caller, id: u64) -> Result<Reached> {
        self.is_open()?;
        let device = self.devices.get(&id).zip(self.access.grant(caller, id));
        let (device, grant) = device.ok_or_else(|| not_found(format!("there is no device {id}")))?;
        Ok(Reached { device: device.clone(), grant })
    }

    /// The quota of a caller that rights mention.
    fn quota(&self, caller: &Caller) -> Option<&Quota> {
        match &self.access {
            Access::Everybody | Access::Later => self.quotas.get(""),
            Access::Clients(_) => caller.names().filter(|name| !name.is_empty()).find_map(|name| self.quotas.get(name)),
        }
    }
}

impl Registry {
    /// A registry without devices.
    pub(crate) fn new(access: Access) -> Registry {
        let registry = Registry(watch::Sender::new(Entries {
            devices: BTreeMap::new(),
            access: Access::Everybody,
            quotas: BTreeMap::new(),
        }));
        registry.set_access(access);
        registry
    }

    /// Adds a device. False if there is one with its id.
    pub(crate) fn add(&self, device: Arc<Device>) -> bool {
        self.0.send_if_modified(|entries| match entries.devices.contains_key(&device.id()) {
            true => false,
            false => entries.devices.insert(device.id(), device).is_none(),
        })
    }

    /// Removes a device.
    pub(crate) fn remove(&self, id: u64) -> Option<Arc<Device>> {
        let mut removed = None;
        self.0.send_if_modified(|entries| {
            removed = entries.devices.remove(&id);
            removed.is_some()
        });
        removed
    }

    /// What a caller may do with the switch as a whole.
    ///
    /// # Errors
    /// `PERMISSION_DENIED`, or `UNAVAILABLE` while nobody has rights yet.
    pub(crate) fn oversee(&self, caller: &Caller) -> Result<Grant> {
        let entries = self.0.borrow();
        entries.is_open()?;
        let refused = || {
            denied("this client has some of the switch's devices only, or none, and may not see what all of them share")
        };
        entries.access.grant_of_switch(caller).ok_or_else(refused)
    }

    /// The devices.
    pub(crate) fn devices(&self) -> Vec<Arc<Device>> {
        self.0.borrow().devices.values().cloned().collect()
    }

    /// Replaces the rights.
    pub(crate) fn set_access(&self, access: Access) {
        let mut names = vec![String::new()];
        if let Access::Clients(clients) = &access {
            names.extend(clients.iter().map(|c| c.name.clone()));
        }
        self.0.send_modify(|entries| {
            let of = |name: String| {
                let quota = entries.quotas.get(&name).cloned().unwrap_or_default();
                (name, quota)
            };
            entries.quotas = names.into_iter().map(of).collect();
            entries.access = access;
        });
    }

    /// The device of this id, if it exists for the caller.
    ///
    /// # Errors
    /// `NOT_FOUND`, or `UNAVAILABLE` while nobody has rights yet.
    pub(crate) fn reach(&self, caller: &Caller, id: u64) -> Result<Reached> {
        self.0.borrow().reach(caller, id)
    }

    /// Whether a caller still reaches a device in a role.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check(&self, caller: &Caller, device: &Arc<Device>, role: &str) -> Result<()> {
        let reached = self.reach(caller, device.id())?;
        match Arc::ptr_eq(&reached.device, device) {
            true => reached.check_role(role),
            false => Err(not_found(format!("device {} has been replaced", device.id()))),
        }
    }

    /// The streams that a caller may have open before it asks for a device.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` for a caller that no right mentions, `UNAVAILABLE` while nobody has rights yet.
    pub(crate) fn streams(&self, caller: &Caller) -> Result<Arc<Semaphore>> {
        let entries = self.0.borrow();
        entries.is_open()?;
        let unknown = || denied(format!("`{}` may not control any device", caller.name()));
        entries.quota(caller).map(|quota| quota.streams.clone()).ok_or_else(unknown)
    }

    /// Places for the long messages of a caller.
    pub(crate) fn uploads(&self, caller: &Caller) -> Arc<Semaphore> {
        let entries = self.0.borrow();
        // There is a quota of the empty name always.
        let quota = entries.quota(caller).or_else(|| entries.quotas.get("")).cloned();
        quota.unwrap_or_default().uploads
    }

    /// Waits for the next change.
    pub(crate) fn changes(&self) -> Changes {
        Changes(self.0.subscribe())
    }
}

/// Tells about changes of a [`Registry`].
pub(crate) struct Changes(watch::Receiver<Entries>);

impl Changes {
    /// Waits until devices or rights have changed. For ever, if the server is gone.
    pub(crate) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    #[test]
    fn nobody_is_refused_for_good_before_there_are_rights() {
        let (registry, caller) = (Registry::new(Access::Later), Caller::default());
        assert_eq!(registry.streams(&caller).unwrap_err().code, Code::Unavailable);
        assert_eq!(registry.reach(&caller, 1).err().map(|e| e.code), Some(Code::Unavailable));
        registry.set_access(Access::Everybody);
        assert!(registry.streams(&caller).is_ok());
        assert_eq!(registry.reach(&caller, 1).err().map(|e| e.code), Some(Code::NotFound));
    }
}
