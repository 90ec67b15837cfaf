//! The architecture's declarations are those that the program includes, which may be a file of its own. What executors know of
//! them must be as they know it.

use hopwright_sema::architecture::Architecture;

use crate::{Lowering, Reported, Result};

impl Lowering<'_> {
    /// Refuses members of the architecture's metadata and enums that differ from what executors know.
    pub(crate) fn check_declarations(&mut self, architecture: &Architecture) -> Result<()> {
        let program = self.program;
        let mut wrong = Vec::new();
        for (name, members) in architecture.metadata {
            for field in program.structs.iter().filter(|s| s.name == *name).flat_map(|s| &s.fields) {
                let known = members.iter().find(|(member, _)| *member == field.name);
                if let Some((member, ty)) = known.filter(|(_, ty)| !ty.is(&field.ty)) {
                    let declared = self.type_name(&field.ty);
                    wrong.push((
                        field.span,
                        format!("`{member}` has the type `{declared}` in this `{name}`, not `{ty}`"),
                    ));
                }
            }
        }
        for (name, members) in architecture.enums {
            for declared in program.enums.iter().filter(|e| e.name == *name) {
                if !declared.members.iter().map(|(member, _)| member.as_str()).eq(members.iter().copied()) {
                    let order = members.join(", ");
                    wrong.push((
                        declared.span,
                        format!("this `{name}` has other members, or in another order, than {order}"),
                    ));
                }
            }
        }
        let fine = wrong.is_empty();
        for (span, what) in wrong {
            let message = format!("{what}: other declarations of {} are not supported", architecture.include);
            self.refuse(span, "E0461", message);
        }
        if fine { Ok(()) } else { Err(Reported) }
    }
}
