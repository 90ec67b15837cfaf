//! The objects of BMv2's JSON format, as `docs/JSON_format.md` of p4lang/behavioral-model describes them.
//!
//! Attributes that only tools read are listed as [`IgnoredAny`]; any other attribute is an error. Attributes that older compilers
//! leave out have defaults. Values whose form depends on their place, such as operands of expressions, stay JSON.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// What says where an object comes from, or is for other tools.
type Ignored = Option<IgnoredAny>;

/// A header and one of its fields.
pub(crate) type FieldName = (String, String);

/// Declares objects of the format: their fields, and what no field says is unknown.
macro_rules! objects {
    ($($(#[$doc:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $ty:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Deserialize)]
            #[serde(deny_unknown_fields)]
            #[allow(dead_code)]
            pub(crate) struct $name {
                $($(#[$attribute])* pub(crate) $field: $ty,)*
                #[serde(default)]
                source_info: Ignored,
                #[serde(default)]
                pragmas: Ignored,
                #[serde(default)]
                annotations: Ignored,
                #[serde(default)]
                pi_omit: Ignored,
            }
        )*
    };
}

objects! {
    /// A whole file.
    Program {
        #[serde(default)]
        program: Option<String>,
        #[serde(default, rename = "__meta__")]
        meta: Option<Meta>,
        header_types: Vec<HeaderType>,
        headers: Vec<Header>,
        #[serde(default)]
        header_stacks: Vec<HeaderStack>,
        #[serde(default)]
        header_union_types: Vec<UnionType>,
        #[serde(default)]
        header_unions: Vec<HeaderUnion>,
        #[serde(default)]
        header_union_stacks: Vec<UnionStack>,
        #[serde(default)]
        field_lists: Vec<FieldList>,
        #[serde(default)]
        errors: Vec<(String, u32)>,
        #[serde(default)]
        enums: Ignored,
        parsers: Vec<Parser>,
        #[serde(default)]
        parse_vsets: Vec<ParseVset>,
        deparsers: Vec<Deparser>,
        #[serde(default)]
        meter_arrays: Vec<MeterArray>,
        #[serde(default)]
        counter_arrays: Vec<CounterArray>,
        #[serde(default)]
        register_arrays: Vec<RegisterArray>,
        #[serde(default)]
        calculations: Vec<Calculation>,
        #[serde(default)]
        learn_lists: Vec<LearnList>,
        actions: Vec<Action>,
        pipelines: Vec<Pipeline>,
        #[serde(default)]
        checksums: Vec<Checksum>,
        #[serde(default)]
        force_arith: Ignored,
        #[serde(default)]
        extern_instances: Vec<ExternInstance>,
        #[serde(default)]
        field_aliases: Vec<(String, FieldName)>,
        #[serde(default)]
        config_options: Ignored,
    }

    /// `__meta__`.
    Meta {
        version: (u32, u32),
        #[serde(default)]
        compiler: Ignored,
    }

    HeaderType {
        name: String,
        #[serde(default)]
        id: Ignored,
        fields: Vec<HeaderField>,
        #[serde(default)]
        length_exp: Option<Value>,
        #[serde(default)]
        max_length: Option<u32>,
    }

    Header {
        name: String,
        id: i64,
        header_type: String,
        #[serde(default)]
        metadata: bool,
        #[serde(default)]
        initialized: Ignored,
    }

    HeaderStack {
        name: String,
        #[serde(default)]
        id: Ignored,
        header_type: String,
        #[serde(default)]
        size: Ignored,
        header_ids: Vec<i64>,
    }

    UnionType {
        name: String,
        #[serde(default)]
        id: Ignored,
        headers: Vec<(String, String)>,
    }

    HeaderUnion {
        name: String,
        id: i64,
        union_type: String,
        header_ids: Vec<i64>,
    }

    UnionStack {
        name: String,
        #[serde(default)]
        id: Ignored,
        union_type: String,
        #[serde(default)]
        size: Ignored,
        header_union_ids: Vec<i64>,
    }

    FieldList {
        #[serde(default)]
        name: Ignored,
        id: u64,
        elements: Vec<Operand>,
    }

    Parser {
        #[serde(default)]
        name: String,
        #[serde(default)]
        id: Ignored,
        init_state: Option<String>,
        parse_states: Vec<ParseState>,
    }

    ParseState {
        name: String,
        #[serde(default)]
        id: Ignored,
        #[serde(default)]
        parser_ops: Vec<Call>,
        #[serde(default)]
        transition_key: Vec<Operand>,
        #[serde(default)]
        transitions: Vec<ParserTransition>,
    }

    ParserTransition {
        #[serde(default, rename = "type")]
        kind: Option<String>,
        #[serde(default)]
        value: Option<String>,
        #[serde(default)]
        mask: Option<String>,
        next_state: Option<String>,
    }

    ParseVset {
        name: String,
        #[serde(default)]
        id: Ignored,
        compressed_bitwidth: u32,
        #[serde(default)]
        max_size: Option<u64>,
    }

    Deparser {
        #[serde(default)]
        name: String,
        #[serde(default)]
        id: Ignored,
        order: Vec<String>,
        #[serde(default)]
        primitives: Vec<Call>,
    }

    MeterArray {
        name: String,
        #[serde(default)]
        id: Ignored,
        #[serde(default, rename = "type")]
        kind: String,
        #[serde(default)]
        rate_count: Option<u32>,
        #[serde(default)]
        size: Option<u64>,
        #[serde(default)]
        is_direct: bool,
        #[serde(default)]
        binding: Option<String>,
        #[serde(default)]
        result_target: Option<FieldName>,
    }

    CounterArray {
        name: String,
        #[serde(default)]
        id: Ignored,
        #[serde(default)]
        size: Option<u64>,
        #[serde(default)]
        is_direct: bool,
        #[serde(default)]
        binding: Option<String>,
    }

    RegisterArray {
        name: String,
        #[serde(default)]
        id: Ignored,
        size: u64,
        bitwidth: u32,
    }

    Calculation {
        name: String,
        #[serde(default)]
        id: Ignored,
        algo: String,
        input: Vec<Operand>,
    }

    LearnList {
        name: String,
        id: u64,
        elements: Vec<Operand>,
    }

    Action {
        name: String,
        id: i64,
        #[serde(default)]
        runtime_data: Vec<RuntimeData>,
        #[serde(default)]
        primitives: Vec<Call>,
    }

    RuntimeData {
        name: String,
        bitwidth: u32,
    }

    Pipeline {
        name: String,
        #[serde(default)]
        id: Ignored,
        init_table: Option<String>,
        #[serde(default)]
        tables: Vec<Table>,
        #[serde(default)]
        action_profiles: Vec<ActionProfile>,
        #[serde(default)]
        conditionals: Vec<Conditional>,
        #[serde(default)]
        action_calls: Vec<ActionCall>,
    }

    ActionProfile {
        name: String,
        #[serde(default)]
        id: Ignored,
        max_size: u64,
        #[serde(default)]
        selector: Option<Selector>,
    }

    Selector {
        algo: String,
        input: Vec<Operand>,
    }

    Table {
        name: String,
        #[serde(default)]
        id: Ignored,
        match_type: String,
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        max_size: Option<i64>,
        #[serde(default)]
        with_counters: bool,
        #[serde(default)]
        support_timeout: bool,
        #[serde(default)]
        direct_meters: Option<String>,
        #[serde(default)]
        action_profile: Option<String>,
        /// The name of `action_profile` in version 1 of the format.
        #[serde(default)]
        act_prof_name: Option<String>,
        /// The selector of the table's own profile, in version 1 of the format.
        #[serde(default)]
        selector: Option<Selector>,
        #[serde(default)]
        key: Vec<Key>,
        #[serde(default)]
        action_ids: Option<Vec<i64>>,
        #[serde(default)]
        actions: Vec<String>,
        #[serde(default)]
        base_default_next: Option<String>,
        #[serde(default)]
        next_tables: BTreeMap<String, Option<String>>,
        #[serde(default)]
        default_entry: Option<DefaultEntry>,
        /// What compilers for P4-14 write beside `default_entry`: always null.
        #[serde(default)]
        default_action: Option<Value>,
        #[serde(default)]
        entries: Vec<Entry>,
    }

    Key {
        match_type: String,
        #[serde(default)]
        name: Option<String>,
        target: Value,
        #[serde(default)]
        mask: Option<String>,
    }

    DefaultEntry {
        action_id: i64,
        #[serde(default)]
        action_const: bool,
        #[serde(default)]
        action_data: Vec<String>,
        #[serde(default)]
        action_entry_const: bool,
    }

    Entry {
        match_key: Vec<MatchKey>,
        action_entry: ActionEntry,
        #[serde(default)]
        priority: i64,
    }

    MatchKey {
        match_type: String,
        #[serde(default)]
        key: Option<Value>,
        #[serde(default)]
        prefix_length: Option<u32>,
        #[serde(default)]
        mask: Option<String>,
        #[serde(default)]
        start: Option<String>,
        #[serde(default)]
        end: Option<String>,
    }

    ActionEntry {
        action_id: i64,
        #[serde(default)]
        action_data: Vec<String>,
    }

    Conditional {
        name: String,
        #[serde(default)]
        id: Ignored,
        expression: Value,
        #[serde(default)]
        true_next: Option<String>,
        #[serde(default)]
        false_next: Option<String>,
    }

    ActionCall {
        name: String,
        #[serde(default)]
        id: Ignored,
        action_id: i64,
        next_node: Option<String>,
    }

    Checksum {
        name: String,
        #[serde(default)]
        id: Ignored,
        target: FieldName,
        #[serde(rename = "type")]
        kind: String,
        calculation: String,
        #[serde(default = "yes")]
        update: bool,
        #[serde(default = "yes")]
        verify: bool,
        #[serde(default)]
        if_cond: Option<Value>,
    }

    ExternInstance {
        name: String,
        #[serde(default)]
        id: Ignored,
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        attribute_values: Ignored,
    }
}

fn yes() -> bool {
    true
}

/// A field of a header type: its name, its width or `"*"`, and whether it is signed.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a field: [name, width] or [name, width, signed], where the width is a number or \"*\"")]
pub(crate) enum HeaderField {
    Plain(String, Width),
    Signed(String, Width, bool),
}

/// The width of a field.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Width {
    Bits(u32),
    Variable(String),
}

/// A type value object.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Operand {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) value: Value,
    /// Of a constant in a list.
    #[serde(default)]
    pub(crate) bitwidth: Option<u32>,
}

/// A primitive of an action, or an operation of a parser.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) op: String,
    #[serde(default)]
    pub(crate) parameters: Vec<Value>,
    #[serde(default)]
    #[allow(dead_code)]
    source_info: Ignored,
}
