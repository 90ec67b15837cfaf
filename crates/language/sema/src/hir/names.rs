//! Names of expressions as the program writes them.

use super::{Expr, ExprKind, Type, TypedProgram};

impl TypedProgram {
    /// The names of the scalars of an expression as the program writes them, in order; empty for those without one.
    pub fn scalar_names(&self, e: &Expr, out: &mut Vec<String>) {
        match &e.kind {
            ExprKind::Aggregate { members, .. } => members.iter().for_each(|m| self.scalar_names(m, out)),
            _ => self.names_within(self.written_name(e), &e.ty, out),
        }
    }

    fn names_within(&self, name: String, ty: &Type, out: &mut Vec<String>) {
        match ty {
            Type::Struct(id) | Type::Header(id) => {
                for field in &self[*id].fields {
                    let inner = if name.is_empty() { String::new() } else { format!("{name}.{}", field.name) };
                    self.names_within(inner, &field.ty, out);
                }
            }
            Type::Tuple(types) => types.iter().for_each(|ty| self.names_within(String::new(), ty, out)),
            Type::Stack(element, n) => {
                for i in 0..*n {
                    let inner = if name.is_empty() { String::new() } else { format!("{name}[{i}]") };
                    self.names_within(inner, element, out);
                }
            }
            _ => out.push(name),
        }
    }

    /// `hdr.ipv4.src` of an expression that is written like this; otherwise empty.
    pub fn written_name(&self, e: &Expr) -> String {
        let name = match &e.kind {
            ExprKind::Var(var) => Some(self[*var].name.clone()),
            ExprKind::Field(base, at) => {
                let name = self.written_name(base);
                let field = match &base.ty {
                    Type::Struct(id) | Type::Header(id) | Type::Union(id) => {
                        self[*id].fields.get(*at).map(|f| f.name.as_str())
                    }
                    _ => None,
                };
                field.filter(|_| !name.is_empty()).map(|field| format!("{name}.{field}"))
            }
            ExprKind::Index(base, index) => match &index.kind {
                ExprKind::Int(index) => {
                    Some(self.written_name(base)).filter(|n| !n.is_empty()).map(|n| format!("{n}[{index}]"))
                }
                _ => None,
            },
            ExprKind::Slice(base, hi, lo) => {
                Some(self.written_name(base)).filter(|n| !n.is_empty()).map(|n| format!("{n}[{hi}:{lo}]"))
            }
            _ => None,
        };
        name.unwrap_or_default()
    }
}
