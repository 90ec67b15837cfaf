//! The typed program: what analysis hands to lowering.
//!
//! Names are resolved to ids, every implicit conversion is an explicit [`ExprKind::Cast`], types are concrete (no type
//! variables, typedefs or `type` newtypes), compile-time constants are folded to [`ExprKind::Int`] and friends, default
//! and named arguments are put in their places, and parsers, controls and extern objects are *instances*: a control
//! instantiated twice appears twice, each with its own tables and its constructor arguments substituted.
//! Lowering needs nothing else.

mod code;
mod names;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use hopwright_source::Span;
use num_bigint::BigInt;

pub use code::{Arg, BinaryOp, Call, Callee, Expr, ExprKind, ForRange, Stmt, StmtKind, UnaryOp};

/// A checked program.
#[derive(Clone, Debug)]
pub struct TypedProgram {
    /// File stem.
    pub name: String,
    /// Struct-like types; [`StructId`] indexes them.
    pub structs: Vec<Struct>,
    /// Enums with and without underlying type; [`EnumId`] indexes them.
    pub enums: Vec<Enum>,
    /// Types that `type` declares; [`NewTypeId`] indexes them. Values have the type below: [`Field::new_type`] and its
    /// like say where the source has one of these.
    pub new_types: Vec<NewType>,
    /// Members of `error`, `NoError` first.
    pub errors: Vec<String>,
    /// Functions, and actions of all scopes; [`FunctionId`] indexes them. Actions of a control instance are
    /// repeated per instance.
    pub functions: Vec<Function>,
    /// Parser and control instances; [`InstanceId`] indexes them.
    pub instances: Vec<Instance>,
    /// Tables of all instances; [`TableId`] indexes them.
    pub tables: Vec<Table>,
    /// Extern objects of all instances and of the top level; [`ObjectId`] indexes them.
    pub objects: Vec<Object>,
    /// Value sets of all parser instances; [`ValueSetId`] indexes them.
    pub value_sets: Vec<ValueSet>,
    /// Every variable and parameter of the program; [`VarId`] indexes them.
    pub vars: Vec<Var>,
    /// Blocks with `@in_hash`, each once: a Tofino computes in its hash functions what they assign.
    pub hash_blocks: Vec<Span>,
    /// The package instance `main`.
    pub main: Package,
}

/// Two objects of a kind with the same control-plane name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedName {
    /// What they are, such as `table`.
    pub kind: &'static str,
    /// Their name.
    pub name: String,
    /// The one that is declared first.
    pub first: Span,
    /// The other.
    pub second: Span,
}

impl TypedProgram {
    /// Header types with `@controller_header`, and the annotation's text: `packet_in`, `packet_out`.
    pub fn controller_headers(&self) -> impl Iterator<Item = (&Struct, &str)> {
        let mut seen = HashSet::new();
        self.structs
            .iter()
            .filter_map(|s| Annotation::text_of(&s.annotations, "controller_header").map(|name| (s, name)))
            .filter(move |(_, name)| seen.insert(*name))
    }

    /// Tables, actions, extern objects and value sets that share a name with another of their kind. Such a program has no
    /// P4Info. The same action in two instances may have one name.
    pub fn shared_names(&self) -> Vec<SharedName> {
        let mut actions: HashSet<(&str, Span)> = HashSet::new();
        let actions = (self.tables.iter().flat_map(|t| &t.actions))
            .map(|a| &self[a.action.function])
            .filter(|f| actions.insert((&f.control_plane_name, f.span)))
            .map(|f| ("action", &f.control_plane_name, f.span));
        let named = (self.tables.iter().map(|t| ("table", &t.control_plane_name, t.span)))
            .chain(self.objects.iter().map(|o| ("extern object", &o.name, o.span)))
            .chain(self.value_sets.iter().map(|v| ("value set", &v.name, v.span)))
            .chain(actions);
        let mut known: HashMap<(&str, &str), Span> = HashMap::new();
        let mut shared = Vec::new();
        for (kind, name, span) in named {
            if let Some(first) = known.insert((kind, name), span) {
                shared.push(SharedName { kind, name: name.clone(), first, second: span });
            }
        }
        shared
    }
}

macro_rules! ids {
    ($($name:ident => $field:ident : $what:ty;)*) => {
        $(
            #[doc = concat!("Index into [`TypedProgram::", stringify!($field), "`].")]
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub struct $name(pub u32);

            impl std::ops::Index<$name> for TypedProgram {
                type Output = $what;
                fn index(&self, id: $name) -> &$what {
                    &self.$field[id.0 as usize]
                }
            }
        )*
    };
}

ids! {
    StructId => structs: Struct;
    EnumId => enums: Enum;
    NewTypeId => new_types: NewType;
    FunctionId => functions: Function;
    InstanceId => instances: Instance;
    TableId => tables: Table;
    ObjectId => objects: Object;
    ValueSetId => value_sets: ValueSet;
    VarId => vars: Var;
}

/// The package instance that is the program.
#[derive(Clone, Debug)]
pub struct Package {
    /// `V1Switch`.
    pub type_name: String,
    /// The architecture that its declaration names, if several have a package of this name.
    pub architecture: Option<String>,
    /// Constructor parameter names with the instances bound to them, in order. Those of a package that is an
    /// argument itself have its parameter's name before them: `ingress.parser`.
    pub blocks: Vec<(String, InstanceId)>,
    /// The names of packages that are arguments, in order: those of their declarations, or of the parameters.
    pub pipelines: Vec<String>,
    /// The pipe of each pipeline, in ascending order, if a device has several programs. With one program it is empty: the pipes are
    /// those of [`Package::pipes_of`].
    pub pipes: Vec<usize>,
    /// Tofino 2: ghost threads, with the number of their pipe. They are not among the blocks.
    pub ghosts: Vec<(usize, InstanceId)>,
    /// Constructor parameters that are constants.
    pub values: Vec<(String, Expr)>,
    /// Constructor parameters that are extern objects.
    pub objects: Vec<(String, ObjectId)>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// The declaration of `main`.
    pub span: Span,
}

impl Package {
    /// The pipes that the pipeline with this number is in, of this many. One pipeline is in all pipes, and each of two in half of them.
    pub fn pipes_of(&self, pipeline: usize, pipelines: usize) -> Vec<usize> {
        match (self.pipes.as_slice(), pipelines) {
            ([0, 1] | [], 2) => vec![pipeline, pipeline + 2],
            ([], 1) => (0..4).collect(),
            ([], _) => vec![pipeline],
            (pipes, _) => pipes.get(pipeline).copied().into_iter().collect(),
        }
    }

    /// The number of the pipeline in a pipe, of this many.
    pub fn pipeline_in(&self, pipe: usize, pipelines: usize) -> Option<usize> {
        (0..pipelines).find(|pipeline| self.pipes_of(*pipeline, pipelines).contains(&pipe))
    }
}

/// A concrete type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `bool`.
    Bool,
    /// `bit<W>`.
    Bits(u32),
    /// `int<W>`.
    Int(u32),
    /// `int`: compile-time only.
    InfInt,
    /// `varbit<W>`.
    Varbit(u32),
    /// `string`: compile-time only.
    String,
    /// `error`.
    Error,
    /// `match_kind`: compile-time only.
    MatchKind,
    /// `void`.
    Void,
    /// An enum; with an underlying type its representation is that type.
    Enum(EnumId),
    /// `struct`.
    Struct(StructId),
    /// `header`.
    Header(StructId),
    /// `header_union`.
    Union(StructId),
    /// `T[n]`: a stack of headers or header unions, or an array of something else.
    Stack(Rc<Type>, u32),
    /// Tuple (and list expressions).
    Tuple(Rc<[Type]>),
    /// `packet_in`, `packet_out`, `register<..>`: never stored.
    Extern(String),
}

/// A struct, header or header union. Specialisations of generic ones are separate.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Name in the source.
    pub name: String,
    /// What the control plane calls it: its name, or what `@name` says.
    pub control_plane_name: String,
    /// Members in order.
    pub fields: Vec<Field>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Declaration.
    pub span: Span,
}

/// A member of a struct-like type.
#[derive(Clone, Debug)]
pub struct Field {
    /// Name.
    pub name: String,
    /// What the control plane calls it: its name, or what `@name` says.
    pub control_plane_name: String,
    /// Type.
    pub ty: Type,
    /// The type in the source, if `type` declares it.
    pub new_type: Option<NewTypeId>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Declaration.
    pub span: Span,
}

/// A type that `type` declares.
#[derive(Clone, Debug)]
pub struct NewType {
    /// What the control plane calls it: its name, or what `@name` says.
    pub control_plane_name: String,
    /// The type below, which no `type` declares.
    pub ty: Type,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Declaration.
    pub span: Span,
}

/// An enum.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Name.
    pub name: String,
    /// What the control plane calls it: its name, or what `@name` says.
    pub control_plane_name: String,
    /// `bit<W>` or `int<W>` for serialisable enums.
    pub underlying: Option<Type>,
    /// Members; without an underlying type the value is the position.
    pub members: Vec<(String, BigInt)>,
    /// Declaration.
    pub span: Span,
}

/// An annotation that reached the typed program, e.g. `@name("x")`, `@field_list(1)`, `@defaultonly`.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// Name without `@`.
    pub name: String,
    /// Evaluated arguments of the structured forms and of the standard unstructured ones.
    pub args: Vec<AnnotationArg>,
    /// The form of its body.
    pub form: AnnotationForm,
    /// Text.
    pub span: Span,
}

impl Annotation {
    /// What `@name` says, if it is there.
    pub fn name_of(annotations: &[Annotation]) -> Option<&str> {
        annotations.iter().filter(|a| a.name == "name").find_map(|a| match a.args.as_slice() {
            [AnnotationArg::String(name)] => Some(name.as_str()),
            _ => None,
        })
    }

    /// The text in `@name("text")`.
    pub fn text_of<'a>(annotations: &'a [Annotation], name: &str) -> Option<&'a str> {
        annotations.iter().filter(|a| a.name == name).find_map(|a| match a.args.first() {
            Some(AnnotationArg::String(value)) => Some(value.as_str()),
            _ => None,
        })
    }

    /// The architecture in `@pkginfo(arch="name")`.
    pub fn architecture(&self) -> Option<String> {
        let AnnotationForm::Free(words) = &self.form else { return None };
        let at = words.iter().position(|w| w == "arch").filter(|_| self.name == "pkginfo")?;
        Some(words.get(at + 2)?.trim_matches('"').to_string())
    }

    /// The number in `@id(number)` and where it stands; `None` without `@id`.
    ///
    /// # Errors
    /// Where an `@id` stands that is no number of 32 bits.
    pub fn id_of(annotations: &[Annotation]) -> Result<Option<(u32, Span)>, Span> {
        let Some(annotation) = annotations.iter().find(|a| a.name == "id") else { return Ok(None) };
        let number = match annotation.args.as_slice() {
            [AnnotationArg::Int(value)] => u32::try_from(value).ok(),
            _ => None,
        };
        number.map(|number| Some((number, annotation.span))).ok_or(annotation.span)
    }
}

/// The form of an annotation's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnnotationForm {
    /// `@name` or `@name(..)`: the words in the parentheses, with macros expanded and strings in quotes.
    Free(Vec<String>),
    /// `@name[..]` with values.
    List,
    /// `@name[..]` with keys and values.
    KeyValues,
}

/// A value in an annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnnotationArg {
    /// String.
    String(String),
    /// Integer.
    Int(BigInt),
    /// Boolean.
    Bool(bool),
    /// `key = value`.
    KeyValue(String, Box<AnnotationArg>),
}

/// Name of the variables for ignored results of externs. They are declared nowhere.
pub const UNWANTED: &str = "_";

/// A variable, constant-folded away when it is a constant, or a parameter.
#[derive(Clone, Debug)]
pub struct Var {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: Type,
    /// Declaration.
    pub span: Span,
}

/// Parameter direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Directionless: action data, compile-time values, packets and extern objects.
    None,
    /// Copy in.
    In,
    /// Copy out; starts uninitialised (headers invalid).
    Out,
    /// Copy in, copy out.
    InOut,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// The variable it declares. Parameters of `packet_in`/`packet_out` type exist but are never read as values.
    pub var: VarId,
    /// Direction.
    pub direction: Direction,
    /// What the control plane calls it: its name, or what `@name` says.
    pub control_plane_name: String,
    /// The type in the source, if `type` declares it.
    pub new_type: Option<NewTypeId>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
}

/// A function or action.
#[derive(Clone, Debug)]
pub struct Function {
    /// Source name.
    pub name: String,
    /// Fully qualified control-plane name (`MyIngress.set_nexthop`, `NoAction`, or as `@name` says).
    pub control_plane_name: String,
    /// True for actions.
    pub is_action: bool,
    /// Parameters; for actions those with [`Direction::None`] are action data.
    pub params: Vec<Param>,
    /// Result; `Void` for actions.
    pub result: Type,
    /// Body.
    pub body: Vec<Stmt>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Declaration.
    pub span: Span,
}

/// A parser or control instance.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Instance path for control-plane names; for the package's blocks the type's name (`MyIngress`).
    pub name: String,
    /// Source name of the parser or control.
    pub type_name: String,
    /// Apply parameters.
    pub params: Vec<Param>,
    /// Local variables with initialisers, in order, run at each `apply`.
    pub locals: Vec<Stmt>,
    /// Body.
    pub body: InstanceBody,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Declaration of the type.
    pub span: Span,
}

/// The body of an instance.
#[derive(Clone, Debug)]
pub enum InstanceBody {
    /// States in order of declaration; the one named `start` starts.
    Parser(Vec<State>),
    /// The `apply` block.
    Control(Vec<Stmt>),
}

/// A parser state.
#[derive(Clone, Debug)]
pub struct State {
    /// Name.
    pub name: String,
    /// Statements.
    pub body: Vec<Stmt>,
    /// Transition; a state without one rejects.
    pub transition: Transition,
    /// Declaration.
    pub span: Span,
}

/// The transition of a state.
#[derive(Clone, Debug)]
pub enum Transition {
    /// Always.
    Goto(StateRef),
    /// `select`.
    Select {
        /// Keys.
        keys: Vec<Expr>,
        /// Cases; each has as many sets as keys have scalars, or one [`Set::ValueSet`] for all.
        cases: Vec<SelectCase>,
        /// Text.
        span: Span,
    },
}

/// A state by index into its instance's states, or an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum StateRef {
    State(usize),
    Accept,
    Reject,
}

/// A select case.
#[derive(Clone, Debug)]
pub struct SelectCase {
    /// Sets.
    pub sets: Vec<Set>,
    /// Target.
    pub target: StateRef,
    /// Text.
    pub span: Span,
}

/// A set expression. Bounds are constants of the key's type in tables; in selects they may be any expression without
/// effect.
#[derive(Clone, Debug)]
pub enum Set {
    /// `default`, `_`.
    Any,
    /// One value.
    Value(Expr),
    /// `v &&& m`.
    Mask(Expr, Expr),
    /// `lo .. hi`.
    Range(Expr, Expr),
    /// A parser value set.
    ValueSet(ValueSetId),
}

/// A parser value set.
#[derive(Clone, Debug)]
pub struct ValueSet {
    /// Control-plane name.
    pub name: String,
    /// Element type.
    pub ty: Type,
    /// Size.
    pub size: u64,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Declaration.
    pub span: Span,
}

/// An extern object.
#[derive(Clone, Debug)]
pub struct Object {
    /// Control-plane name.
    pub name: String,
    /// `register`, `counter`, `AesCmac`, ...
    pub type_name: String,
    /// Type arguments (of the extern type, after inference).
    pub type_args: Vec<Type>,
    /// Those of them that `type` declares.
    pub new_types: Vec<Option<NewTypeId>>,
    /// Constructor arguments, constants (`ExprKind::Int`, `Bool`, `String`, `EnumMember`) and objects.
    pub args: Vec<Expr>,
    /// Abstract methods by name, with the functions that implement them.
    pub methods: Vec<(String, FunctionId)>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Declaration.
    pub span: Span,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Source name.
    pub name: String,
    /// Control-plane name.
    pub control_plane_name: String,
    /// Keys.
    pub keys: Vec<TableKey>,
    /// Actions.
    pub actions: Vec<TableAction>,
    /// Default action; `NoAction` if the source has none.
    pub default_action: ActionRef,
    /// `const default_action`.
    pub const_default_action: bool,
    /// Entries.
    pub entries: Vec<Entry>,
    /// `const entries`.
    pub const_entries: bool,
    /// `largest_priority_wins` (true unless set).
    pub largest_priority_wins: bool,
    /// `priority_delta` (1 unless set).
    pub priority_delta: u64,
    /// `size`.
    pub size: Option<u64>,
    /// Other properties (`implementation`, `counters`, `meters`, `support_timeout`, ...).
    pub properties: Vec<(String, Property)>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Declaration.
    pub span: Span,
}

/// A table property of the architecture.
#[derive(Clone, Debug)]
pub enum Property {
    /// Refers to an extern object (declared elsewhere or constructed in place).
    Object(ObjectId),
    /// A constant.
    Value(Expr),
}

/// A table key.
#[derive(Clone, Debug)]
pub struct TableKey {
    /// Value.
    pub expr: Expr,
    /// `exact`, `lpm`, ...
    pub match_kind: String,
    /// Where the match kind is named.
    pub match_span: Span,
    /// Control-plane name: `@name`, else the source text normalised as P4Runtime says (`hdr.ipv4.$valid$`, `h.f[3:0]`).
    pub name: String,
    /// The type in the source, if `type` declares it.
    pub new_type: Option<NewTypeId>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
}

/// An action in a table's list.
#[derive(Clone, Debug)]
pub struct TableAction {
    /// The action with the arguments bound to its directional parameters.
    pub action: ActionRef,
    /// Annotations (`@defaultonly`, `@tableonly`).
    pub annotations: Vec<Annotation>,
}

/// An action with arguments: as many as parameters; action data without a value here is `None`.
#[derive(Clone, Debug)]
pub struct ActionRef {
    /// The action.
    pub function: FunctionId,
    /// Arguments.
    pub args: Vec<Option<Expr>>,
    /// Text.
    pub span: Span,
}

/// An entry.
#[derive(Clone, Debug)]
pub struct Entry {
    /// One per key.
    pub sets: Vec<Set>,
    /// Action with all action data.
    pub action: ActionRef,
    /// `priority = n`.
    pub priority: Option<BigInt>,
    /// `const` on this entry.
    pub is_const: bool,
    /// Text.
    pub span: Span,
}
