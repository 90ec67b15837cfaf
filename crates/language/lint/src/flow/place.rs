//! Storage locations: a variable, or a member or element of a location.

use std::collections::HashMap;

use hopwright_sema::hir::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PlaceId(u32);

/// A step from a place to one inside it: a member, or an element of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Step {
    Field(usize),
    Element(u32),
}

/// The owner of values that live as long as a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Root {
    Var(VarId),
    /// The result of a function.
    Result(FunctionId),
    /// What v1model passes from block to block: headers, metadata, standard metadata.
    Shared(usize),
}

struct Node {
    parent: Option<(PlaceId, Step)>,
    root: Root,
    ty: Type,
    inner: Vec<(Step, PlaceId)>,
}

/// All places seen so far.
pub(super) struct Places<'p> {
    program: &'p TypedProgram,
    nodes: Vec<Node>,
    roots: HashMap<Root, PlaceId>,
}

impl<'p> Places<'p> {
    pub(super) fn new(program: &'p TypedProgram) -> Places<'p> {
        Places { program, nodes: Vec::new(), roots: HashMap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn root(&mut self, root: Root, ty: &Type) -> PlaceId {
        if let Some(id) = self.roots.get(&root) {
            return *id;
        }
        let id = self.node(None, root, ty.clone());
        self.roots.insert(root, id);
        id
    }

    pub(super) fn var(&mut self, var: VarId) -> PlaceId {
        let program = self.program;
        self.root(Root::Var(var), &program[var].ty)
    }

    /// The place of a variable, if it has been seen.
    pub(super) fn known(&self, root: Root) -> Option<PlaceId> {
        self.roots.get(&root).copied()
    }

    fn node(&mut self, parent: Option<(PlaceId, Step)>, root: Root, ty: Type) -> PlaceId {
        self.nodes.push(Node { parent, root, ty, inner: Vec::new() });
        PlaceId((self.nodes.len() - 1) as u32)
    }

    /// The place one step inside; `None` if there is none.
    pub(super) fn step(&mut self, place: PlaceId, step: Step) -> Option<PlaceId> {
        let node = &self.nodes[place.0 as usize];
        if let Some((_, id)) = node.inner.iter().find(|(s, _)| *s == step) {
            return Some(*id);
        }
        let program = self.program;
        let ty = match (&node.ty, step) {
            (Type::Struct(s) | Type::Header(s) | Type::Union(s), Step::Field(i)) => {
                program[*s].fields.get(i)?.ty.clone()
            }
            (Type::Tuple(items), Step::Field(i)) => items.get(i)?.clone(),
            (Type::Stack(element, n), Step::Element(i)) if i < *n => (**element).clone(),
            _ => return None,
        };
        let root = node.root;
        let id = self.node(Some((place, step)), root, ty);
        self.nodes[place.0 as usize].inner.push((step, id));
        Some(id)
    }

    /// The places inside that have been seen.
    pub(super) fn inner(&self, place: PlaceId) -> &[(Step, PlaceId)] {
        &self.nodes[place.0 as usize].inner
    }

    pub(super) fn ty(&self, place: PlaceId) -> &Type {
        &self.nodes[place.0 as usize].ty
    }

    pub(super) fn root_of(&self, place: PlaceId) -> Root {
        self.nodes[place.0 as usize].root
    }

    pub(super) fn parent(&self, place: PlaceId) -> Option<(PlaceId, Step)> {
        self.nodes[place.0 as usize].parent
    }

    /// The header that a place is a member of.
    pub(super) fn header_of(&self, place: PlaceId) -> Option<PlaceId> {
        let (parent, _) = self.parent(place)?;
        matches!(self.ty(parent), Type::Header(_)).then_some(parent)
    }

    /// The place and all places inside that have been seen.
    pub(super) fn all(&self, place: PlaceId, out: &mut Vec<PlaceId>) {
        out.push(place);
        for (_, inner) in self.inner(place) {
            self.all(*inner, out);
        }
    }

    /// The place as the program spells it.
    pub(super) fn show(&self, place: PlaceId) -> String {
        let node = &self.nodes[place.0 as usize];
        match node.parent {
            None => match node.root {
                Root::Var(v) => self.program[v].name.clone(),
                Root::Result(f) => self.program[f].name.clone(),
                Root::Shared(_) => String::new(),
            },
            Some((parent, Step::Element(i))) => format!("{}[{i}]", self.show(parent)),
            Some((parent, Step::Field(i))) => {
                let name = match self.ty(parent) {
                    Type::Struct(s) | Type::Header(s) | Type::Union(s) => self.program[*s].fields[i].name.clone(),
                    _ => i.to_string(),
                };
                format!("{}.{name}", self.show(parent))
            }
        }
    }
}
