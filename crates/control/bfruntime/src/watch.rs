//! What changes without controllers: entries become idle or active, ports lose or find their link.

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
    for port in device.tenant().ports() {
        let up = has_link(state.ports.get(&port.number), Some(port.info.up.unwrap_or(true)));
        // A port is notified of when it changes, not when it is first seen.
        if state.links.insert(port.number, up).is_some_and(|before| before != up) {
            let key = value::number_key(table, port.number.into());
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
