//! P4Info says what p4c's says. Names, ids and bytes here are those that p4c gives; `examples/p4info_corpus.rs` compares
//! with its samples.

use hopwright_driver::compile_text;
use hopwright_p4runtime::proto::config::P4Info;
use hopwright_p4runtime::proto::v1::ForwardingPipelineConfig;
use hopwright_p4runtime::{Program, p4info};

const HEAD: &str = r#"
#include <core.p4>
#include <v1model.p4>
#define ROLE "sdn_controller"
enum bit<16> ether_t { IPV4 = 0x800, ARP = 0x806 }
enum bit<8> unused_t { A = 1 }
type bit<9> plain_t;
@p4runtime_translation("example.com/port", string) type bit<9> port_t;
@p4runtime_translation("example.com/mac", bit<64>) @format(MAC) type bit<48> mac_t;
header ethernet_t { mac_t dst; bit<48> src; ether_t type; }
header ipv4_t { @name("hop_limit") bit<8> ttl; bit<8> tos; }
@controller_header("packet_in") header never_used_t { @padding bit<7> pad; plain_t port; }
struct headers_t { ethernet_t ethernet; ipv4_t ipv4; }
struct metadata_t { port_t port; bool flag; }
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.ethernet); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply {} }
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
"#;
const TAIL: &str = "V1Switch(P(), V(), I(), E(), C(), D()) main;";

/// The P4Info of an ingress control with these declarations and statements.
fn info(locals: &str, apply: &str) -> P4Info {
    of(&format!("{HEAD}{locals}\napply {{ {apply} }} }}\n{TAIL}")).unwrap()
}

fn of(source: &str) -> Result<P4Info, String> {
    let compiled = compile_text("test.p4", source, &Default::default(), true);
    let errors: Vec<_> = compiled.diagnostics.iter().map(|d| d.message.clone()).collect();
    let pipeline = compiled.pipeline.as_ref().unwrap_or_else(|| panic!("{errors:?}"));
    p4info::of(compiled.typed.as_ref().unwrap(), pipeline).map_err(|e| e.to_string())
}

fn text(info: &P4Info) -> String {
    p4info::to_text(info).unwrap()
}

#[test]
fn types_are_described() {
    let info = info(
        "action set(plain_t a, @format(MAC) @brief(\"b\") mac_t m, port_t p, bool f) { meta.port = p; }
         table t {
             key = { hdr.ethernet.dst : exact; hdr.ethernet.type : exact; meta.port : exact; hdr.ipv4.isValid() : exact;
                     hdr.ipv4.ttl : ternary; hdr.ipv4.tos & 0xf : exact; hdr.ipv4.tos[3:0] : lpm; meta.flag : exact; }
             actions = { set; }
             size = 0;
         }",
        "t.apply();",
    );
    let t = &info.tables[0];
    let fields: Vec<_> = t
        .match_fields
        .iter()
        .map(|f| (f.name.as_str(), f.bitwidth, f.type_name.as_ref().map_or("", |n| n.name.as_str())))
        .collect();
    assert_eq!(
        fields,
        [
            ("hdr.ethernet.dst", 64, "mac_t"),
            ("hdr.ethernet.type", 16, ""),
            ("meta.port", 0, "port_t"),
            ("hdr.ipv4.$valid$", 1, ""),
            ("hdr.ipv4.hop_limit", 8, ""),
            ("hdr.ipv4.tos & 0xf", 8, ""),
            ("hdr.ipv4.tos[3:0]", 4, ""),
            ("meta.flag", 1, ""),
        ]
    );
    assert_eq!(t.size, 1024);
    let set = info.actions.iter().find(|a| !a.params.is_empty()).unwrap();
    let params: Vec<_> = set
        .params
        .iter()
        .map(|p| (p.name.as_str(), p.bitwidth, p.type_name.as_ref().map_or("", |n| n.name.as_str())))
        .collect();
    assert_eq!(params, [("a", 9, "plain_t"), ("m", 64, "mac_t"), ("p", 0, "port_t"), ("f", 1, "")]);
    assert_eq!(set.params[1].annotations, ["@format(MAC)"]);
    assert_eq!(set.params[1].doc.as_ref().unwrap().brief, "b");

    let types = info.type_info.as_ref().unwrap();
    // Only what the control plane meets.
    assert_eq!(types.serializable_enums.keys().collect::<Vec<_>>(), ["ether_t"]);
    let members: Vec<_> = types.serializable_enums["ether_t"].members.iter().map(|m| &m.value[..]).collect();
    assert_eq!(members, [&[8, 0][..], &[8, 6]]);
    let shown = text(&info);
    for part in ["uri: \"example.com/mac\"", "sdn_bitwidth: 64", "sdn_string", "key: \"plain_t\""] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    assert_eq!(types.new_types["mac_t"].annotations, ["@format(MAC)"]);

    // A controller header that the program never uses.
    let header = &info.controller_packet_metadata[0];
    assert_eq!(header.preamble.as_ref().unwrap().name, "packet_in");
    assert_eq!(header.metadata[0].annotations, ["@padding"]);
    assert_eq!(header.metadata[1].type_name.as_ref().unwrap().name, "plain_t");
}

#[test]
fn registers_and_digests_have_types() {
    let info = info(
        "register<plain_t>(4) ports;",
        "ports.write(0, (plain_t) 1); digest<metadata_t>(1, meta);
         digest<tuple<bit<48>, ether_t>>(2, { hdr.ethernet.src, hdr.ethernet.type });",
    );
    let shown = text(&info);
    assert!(shown.contains("new_type {\n      name: \"plain_t\""), "{shown}");
    let digests: Vec<_> = info.digests.iter().map(|d| d.preamble.as_ref().unwrap().name.as_str()).collect();
    assert_eq!(digests, ["digest_0", "metadata_t"]);
    assert!(shown.contains("tuple {"), "{shown}");
}

#[test]
fn annotations_are_carried() {
    let info = info(
        r#"action drop() {}
           @p4runtime_role(ROLE) @entry_restriction("a::b > 0") @two(a, 3)
           @list[1, "x", true, 2 + 3] @pairs[k = "v", n = 7]
           table t {
               key = { hdr.ipv4.tos : exact @format(HEX) @description("type of service");
                       hdr.ethernet.src : selector; }
               actions = { @tableonly @proto_id(1) NoAction; @defaultonly @proto_id(2) drop; }
               const default_action = drop;
               @name("my_selector") @max_group_size(8) @selector_size_semantics("sum_of_members") @max_member_weight(5)
               @own(1)
               implementation = action_selector(HashAlgorithm.crc16, 16, 14);
           }"#,
        "t.apply();",
    );
    let t = &info.tables[0];
    let preamble = t.preamble.as_ref().unwrap();
    assert_eq!(
        preamble.annotations,
        ["@p4runtime_role(\"sdn_controller\")", "@entry_restriction(\"a::b > 0\")", "@two(a , 3)"]
    );
    let shown = text(&info);
    let structured = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "name: \"list\" expression_list { expressions: [{ int64_value: 1 }, { string_value: \"x\" }, { bool_value: true }, \
         { int64_value: 5 }] }",
        "name: \"pairs\" kv_pair_list { kv_pairs: [{ key: \"k\" value { string_value: \"v\" } }, \
         { key: \"n\" value { int64_value: 7 } }] }",
    ] {
        assert!(structured.contains(part), "{part} is not in {structured}");
    }
    assert_eq!(t.match_fields[0].annotations, ["@format(HEX)"]);
    assert_eq!(t.match_fields[0].doc.as_ref().unwrap().description, "type of service");
    assert_eq!(t.action_refs[0].annotations, ["@tableonly", "@proto_id(1)"]);
    assert_eq!(t.action_refs[1].annotations, ["@defaultonly", "@proto_id(2)"]);

    let profile = &info.action_profiles[0];
    let preamble = profile.preamble.as_ref().unwrap();
    assert_eq!((preamble.name.as_str(), &preamble.annotations[..]), ("my_selector", &["@own(1)".to_string()][..]));
    assert_eq!((profile.size, profile.max_group_size), (16, 8));
    assert!(structured.contains("sum_of_members { max_member_weight: 5 }"), "{structured}");
}

#[test]
fn the_package_is_described() {
    let head = HEAD.replace("#define ROLE", "#define VERSION \"1.2\"\n#define ROLE");
    let annotated = r#"@pkginfo(name = "router.p4", version = VERSION, organization = "Example")
        @pkginfo_like @platform_property[multicast_group_table_size = 1 + 2, multicast_group_table_total_replicas = 9]
        @brief("A router") "#;
    let info = of(&format!("{head} apply {{}} }}\n{annotated}{TAIL}")).unwrap();
    let package = info.pkg_info.unwrap();
    assert_eq!(
        [&package.arch, &package.name, &package.version, &package.organization],
        ["v1model", "router.p4", "1.2", "Example"]
    );
    assert_eq!(package.doc.unwrap().brief, "A router");
    assert_eq!(package.annotations, ["@pkginfo_like"]);
    let properties = package.platform_properties.unwrap();
    assert_eq!((properties.multicast_group_table_size, properties.multicast_group_table_total_replicas), (3, 9));
    // As p4c, all structured ones are there.
    assert_eq!(package.structured_annotations.len(), 1);
}

#[test]
fn what_is_never_applied_is_not_listed() {
    let info = info(
        "action a() {} action b() {} action c() {} action d(bit<8> x) { hdr.ipv4.tos = x; a(); }
         table never { actions = { a; } }
         table in_a_dead_branch { actions = { b; } }
         @hidden table silent { actions = { c; } }
         table t { actions = { NoAction; } }",
        "if (false) { in_a_dead_branch.apply(); } silent.apply(); t.apply(); d(1);",
    );
    let tables: Vec<_> = info.tables.iter().map(|t| t.preamble.as_ref().unwrap().name.as_str()).collect();
    assert_eq!(tables, ["I.t"]);
    let mut actions: Vec<_> = info.actions.iter().map(|a| a.preamble.as_ref().unwrap().name.as_str()).collect();
    actions.sort_unstable();
    // `d` is called, and what it calls is a part of it.
    assert_eq!(actions, ["I.c", "I.d", "NoAction"]);
    assert!(info.actions.iter().all(|a| a.params.is_empty()));
}

#[test]
fn objects_of_tables_that_are_never_applied_are_not_listed() {
    let info = info(
        "direct_counter(CounterType.packets) of_never; direct_meter<bit<8>>(MeterType.packets) measures;
         direct_counter(CounterType.packets) of_used; action_profile(8) named; counter(4, CounterType.packets) plain;
         action a() { of_never.count(); measures.read(hdr.ipv4.tos); plain.count(0); } action b() { of_used.count(); }
         table never { key = { hdr.ipv4.tos: exact; } actions = { a; } counters = of_never; meters = measures; }
         table indirect { key = { hdr.ipv4.tos: exact; } actions = { NoAction; } implementation = named; }
         table selects { key = { hdr.ipv4.tos: exact; } actions = { NoAction; }
                         implementation = action_selector(HashAlgorithm.crc16, 8, 4); }
         table used { key = { hdr.ipv4.tos: exact; } actions = { b; } counters = of_used; }",
        "used.apply();",
    );
    let counters: Vec<_> = info.direct_counters.iter().map(|c| c.preamble.as_ref().unwrap().name.as_str()).collect();
    assert_eq!(counters, ["I.of_used"]);
    assert!(info.direct_meters.is_empty());
    let profiles: Vec<_> = info.action_profiles.iter().map(|p| p.preamble.as_ref().unwrap().name.as_str()).collect();
    assert_eq!(profiles, ["I.named"]);
    let counters: Vec<_> = info.counters.iter().map(|c| c.preamble.as_ref().unwrap().name.as_str()).collect();
    assert_eq!(counters, ["I.plain"]);
}

/// As `p4c --p4runtime-files` wrote it, shortened by what has its default.
#[test]
fn p4info_of_p4c_is_accepted_on_push() {
    let source = format!(
        "{HEAD} @id(7) action set(@id(3) port_t p, @id(2) mac_t m) {{ meta.port = p; }}
         table t {{ key = {{ hdr.ipv4.isValid() : exact; hdr.ethernet.dst : ternary; }} actions = {{ set; }} }}
         apply {{ t.apply(); }} }}\n{TAIL}"
    );
    let p4c = r#"
        # proto-file: p4/config/v1/p4info.proto
        # proto-message: p4.config.v1.P4Info
        pkg_info { arch: "v1model" }
        tables {
            preamble { id: TABLE name: "I.t" alias: "t" }
            match_fields { id: 1 name: "hdr.ipv4.$valid$" bitwidth: 1 match_type: EXACT }
            match_fields { id: 2 name: "hdr.ethernet.dst" bitwidth: 64 match_type: TERNARY type_name { name: "mac_t" } }
            action_refs { id: 16777223 }
            action_refs { id: 21257015 annotations: "@defaultonly" scope: DEFAULT_ONLY }
            initial_default_action { action_id: 21257015 }
            size: 1024
        }
        actions {
            preamble { id: 16777223 name: "I.set" alias: "set" }
            params { id: 3 name: "p" type_name { name: "port_t" } }
            params { id: 2 name: "m" bitwidth: 64 type_name { name: "mac_t" } }
        }
        actions { preamble { id: 21257015 name: "NoAction" alias: "NoAction" annotations: "@noWarn(\"unused\")" } }
        controller_packet_metadata {
            preamble { id: HEADER name: "packet_in" alias: "packet_in" annotations: "@controller_header(\"packet_in\")" }
            metadata { id: 1 name: "pad" annotations: "@padding" bitwidth: 7 }
            metadata { id: 2 name: "port" bitwidth: 9 type_name { name: "plain_t" } }
        }
        type_info {
            new_types {
                key: "mac_t"
                value {
                    translated_type { uri: "example.com/mac" sdn_bitwidth: 64 }
                    annotations: "@format(MAC)"
                }
            }
            new_types { key: "plain_t" value { original_type { bitstring { bit { bitwidth: 9 } } } } }
            new_types { key: "port_t" value { translated_type { uri: "example.com/port" sdn_string { } } } }
        }"#;
    let ours = of(&source).unwrap();
    let id = |p: &Option<hopwright_p4runtime::proto::config::Preamble>| p.as_ref().unwrap().id.to_string();
    let p4c = p4c
        .replace("TABLE", &id(&ours.tables[0].preamble))
        .replace("HEADER", &id(&ours.controller_packet_metadata[0].preamble));
    let p4c = p4info::from_text(&p4c).unwrap();
    let mut sorted = ours.clone();
    sorted.actions.sort_by_key(|a| a.preamble.as_ref().unwrap().id);
    assert_eq!(text(&sorted), text(&p4c));
    let config =
        ForwardingPipelineConfig { p4info: Some(p4c), p4_device_config: source.into_bytes().into(), cookie: None };
    assert!(Program::from_config(&config).is_ok());
}

/// Objects of the other architectures are described as v1model's are.
#[test]
fn other_architectures() {
    fn described(file: &str) -> P4Info {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/stf");
        of(&std::fs::read_to_string(folder.join(file)).unwrap()).unwrap()
    }
    fn names(preambles: Vec<&Option<hopwright_p4runtime::proto::config::Preamble>>) -> Vec<&str> {
        preambles.into_iter().map(|p| p.as_ref().unwrap().alias.as_str()).collect()
    }
    let tofino = described("tna_externs.p4");
    assert_eq!(tofino.pkg_info.as_ref().unwrap().arch, "tna");
    assert_eq!(names(tofino.tables.iter().map(|t| &t.preamble).collect()), ["adds", "counted"]);
    assert_eq!(
        names(tofino.registers.iter().map(|r| &r.preamble).collect()),
        ["numbers", "pairs", "seventy_seven", "one_and_two", "loopback"]
    );
    assert_eq!(names(tofino.counters.iter().map(|c| &c.preamble).collect()), ["counts", "adjusted"]);
    assert_eq!(names(tofino.direct_counters.iter().map(|c| &c.preamble).collect()), ["direct"]);
    assert_eq!(tofino.direct_counters[0].direct_table_id, tofino.tables[1].preamble.as_ref().unwrap().id);
    assert_eq!(names(tofino.meters.iter().map(|m| &m.preamble).collect()), ["meter", "bytes_meter"]);
    assert_eq!(names(tofino.digests.iter().map(|d| &d.preamble).collect()), ["digest"]);

    // P4Runtime knows neither filters nor direct registers: those of tables are in annotations of these. Clients expect nothing but
    // counters and meters among a table's direct resources.
    let filters = described("tna_filters.p4");
    let externs: Vec<_> = filters.externs.iter().map(|e| (e.extern_type_name.as_str(), e.instances.len())).collect();
    assert_eq!(externs, [("Lpf", 2), ("Wred", 2), ("PortMetadata", 1)]);
    let id = filters.externs[0].instances[1].preamble.as_ref().unwrap().id;
    let direct = described("tna_direct_registers.p4");
    let register = direct.registers[0].preamble.as_ref().unwrap().id;
    for (table, id) in [(&filters.tables[0], id), (&direct.tables[0], register)] {
        assert!(table.direct_resource_ids.is_empty());
        assert!(table.preamble.as_ref().unwrap().annotations.contains(&format!("@entry_cells({id})")));
    }

    let portable = described("psa_externs.p4");
    assert_eq!(portable.pkg_info.as_ref().unwrap().arch, "psa");
    assert!(!portable.registers.is_empty() && !portable.counters.is_empty() && !portable.digests.is_empty());
}

/// BfRuntime shows and configures hashes as their annotations in P4Info describe them.
#[test]
fn a_p4info_with_other_hashes_is_refused_on_push() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/bfruntime/hashes.p4");
    let source = std::fs::read_to_string(file).unwrap();
    let push = |p4info: Option<P4Info>| {
        let config = ForwardingPipelineConfig { p4info, p4_device_config: source.clone().into(), cookie: None };
        Program::from_config(&config).map_err(|failure| failure.message)
    };
    let ours = push(None).map(|program| program.config.p4info.unwrap()).unwrap();
    let hashes = |info: &P4Info| info.externs.iter().position(|it| it.extern_type_name == "Hash").unwrap();
    assert!(push(Some(ours.clone())).is_ok());
    type Change = fn(&mut hopwright_p4runtime::proto::config::Preamble);
    let changes: [Change; 3] =
        [|hash| hash.id += 1, |hash| hash.name.push('x'), |hash| hash.annotations.push("@width(4294967295)".into())];
    for change in changes {
        let mut other = ours.clone();
        let at = hashes(&other);
        change(other.externs[at].instances[0].preamble.as_mut().unwrap());
        let refused = push(Some(other)).map(drop).unwrap_err();
        assert!(refused.contains("the P4Info is of another program: hash `"), "{refused}");
    }
}
