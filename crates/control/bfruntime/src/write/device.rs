//! Writes settings of the device.

use super::{Effects, Request};
use crate::failure::{Result, unimplemented};
use crate::proto::{DataField, data_field::Value, update::Type as Kind};
use crate::schema::fixed::device as field;
use crate::state::Change;
use crate::value::merged;

/// How long digests are collected at first, in microseconds.
pub(crate) const LEARN_TIMEOUT: u32 = 500;

impl Request<'_> {
    pub(super) fn device_settings(&self) -> Result<Effects> {
        let fields = match self.kind {
            Kind::Insert | Kind::Modify | Kind::InsertOrModify => merged(Some(&self.state.device), self.kept()?),
            Kind::Delete | Kind::Reset => Vec::new(),
            _ => return Err(self.unsupported()),
        };
        for DataField { field_id, value } in &fields {
            let on = *value == Some(Value::BoolVal(true));
            if on && *field_id == field::INACTIVE_NODE_DELETE {
                let name = self.table.data.iter().find(|f| f.id == *field_id).map_or("", |f| f.name.as_str());
                return Err(unimplemented(format!("`{name}` stays false here")));
            }
        }
        Ok(Effects::new(Vec::new(), vec![Change::Device(fields)]))
    }
}
