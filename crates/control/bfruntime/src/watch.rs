//! What changes without controllers: entries become idle or active, ports lose or find their link.

use std::collections::BTreeMap;
use std::time::Instant;

use hopwright_p4runtime::Device;

use crate::proto::idle_timeout_notification::NotificationType;
use crate::proto::stream_message_response::Update;
use crate::proto::subscribe::Notifications;
use crate::proto::{IdleTimeoutNotification, PortStatusChgNotification, TableEntry, TargetDevice, table_entry};
use crate::schema::Object;
use crate::state::State;
use crate::write::has_link;
use crate::{attributes, read, value};

/// What has changed since it was looked at last.
pub(crate) fn changes(state: &mut State, device: &Device) -> Vec<Update> {
    let schema = state.schema.clone();
    let mut found = Vec::new();
    for (key, idle) in read::look_for_idle(state, device, Instant::now()) {
        let Some(table) = schema.table(key.table) else { continue };
        let pipe_id = attributes::pipe_of_entries(state, table);
        let target = TargetDevice { device_id: 0, pipe_id, direction: 0xff, prsr_id: 0xff };
        let value = Some(table_entry::Value::Key(read::key_of(table, &key)));
        let kind = if idle { NotificationType::EntryIdle } else { NotificationType::EntryActive };
        found.push(Update::IdleTimeoutNotification(IdleTimeoutNotification {
            target: Some(target),
            table_entry: Some(TableEntry { table_id: key.table, value, ..TableEntry::default() }),
            r#type: kind as i32,
        }));
    }
    let Some(table) = schema.tables.iter().find(|table| table.object == Object::Ports) else { return found };
    // Ports that a controller has added may have no device. These have no link when they are first seen.
    let tenant = device.tenant();
    let devices = tenant.ports().into_iter().map(|port| (port.number, Some(port.info.up.unwrap_or(true))));
    let mut all: BTreeMap<u32, Option<bool>> =
        state.ports.keys().chain(state.links.keys()).map(|port| (*port, None)).collect();
    all.extend(devices);
    for (port, link) in all {
        let settings = state.ports.get(&port);
        let is_gone = link.is_none() && settings.is_none();
        let up = !is_gone && has_link(settings, link);
        let before = if is_gone { state.links.remove(&port) } else { state.links.insert(port, up) };
        // A port with a device is notified of when it changes, not when it is first seen.
        if before.or(link.is_none().then_some(false)).is_some_and(|before| before != up) {
            let key = value::number_key(table, port.into());
            let value = Some(table_entry::Value::Key(key));
            found.push(Update::PortStatusChangeNotification(PortStatusChgNotification {
                table_entry: Some(TableEntry { table_id: table.id, value, ..TableEntry::default() }),
                port_up: up,
            }));
        }
    }
    found
}

/// Sets the device of a notification, as the client calls it.
pub(crate) fn tell_device(update: &mut Update, device: u32) {
    if let Update::IdleTimeoutNotification(IdleTimeoutNotification { target: Some(target), .. }) = update {
        target.device_id = device;
    }
}

/// Whether a client wants to be notified of this.
pub(crate) fn concerns(update: &Update, wants: &Notifications) -> bool {
    match update {
        Update::IdleTimeoutNotification(n) if n.r#type() == NotificationType::EntryIdle => {
            wants.enable_idletimeout_notifications
        }
        Update::IdleTimeoutNotification(_) => wants.enable_entry_active_notifications,
        Update::PortStatusChangeNotification(_) => wants.enable_port_status_change_notifications,
        _ => false,
    }
}
