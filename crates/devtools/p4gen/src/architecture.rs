//! What differs between architectures: objects of their own, and what is around the parser, controls and deparser of a program.
//!
//! These are the same for all architectures, and know v1model's metadata by its names. In a program for another architecture
//! they are parts of its parsers and controls, and a packet passes them twice: `P`, `I` and `D` in ingress, `P`, `E` and `D` in egress.

use crate::{Config, Generator, Ty};

/// For which architecture programs are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Architecture {
    /// v1model.
    #[default]
    V1model,
    /// The Portable Switch Architecture.
    Psa,
    /// The Tofino Native Architecture.
    Tna,
}

impl Config {
    /// Programs for another architecture, with what architectures have in common.
    pub fn of(architecture: Architecture) -> Config {
        let own = architecture == Architecture::V1model;
        Config {
            architecture,
            hash: own,
            checksums: own,
            meters: own,
            profiles: own,
            value_sets: own,
            objects: own,
            // Tofino has no optional keys.
            range_and_optional: architecture != Architecture::Tna,
            ..Config::default()
        }
    }
}

impl Architecture {
    pub(crate) fn include(self) -> &'static str {
        match self {
            Architecture::V1model => "v1model.p4",
            Architecture::Psa => "psa.p4",
            Architecture::Tna => "tna.p4",
        }
    }

    fn counter_type(self, kind: &str) -> String {
        match self {
            Architecture::V1model => format!("CounterType.{kind}"),
            Architecture::Psa => format!("PSA_CounterType_t.{}", kind.to_uppercase()),
            Architecture::Tna => format!("CounterType_t.{}", kind.to_uppercase()),
        }
    }

    /// The declaration of a counter. `kind` is one of v1model's names.
    pub(crate) fn counter(self, name: &str, size: u32, kind: &str) -> String {
        let kind = self.counter_type(kind);
        match self {
            Architecture::V1model => format!("counter({size}, {kind}) {name};"),
            _ => format!("Counter<bit<64>, bit<32>>({size}, {kind}) {name};"),
        }
    }

    /// The declaration of a table's counter.
    pub(crate) fn direct_counter(self, name: &str) -> String {
        let kind = self.counter_type("packets_and_bytes");
        match self {
            Architecture::V1model => format!("direct_counter({kind}) {name};"),
            _ => format!("DirectCounter<bit<64>>({kind}) {name};"),
        }
    }

    /// The table property that names its counter.
    pub(crate) fn counters(self) -> &'static str {
        match self {
            Architecture::Psa => "psa_direct_counter",
            _ => "counters",
        }
    }

    pub(crate) fn register(self, name: &str, size: u32, ty: Ty) -> String {
        match self {
            Architecture::V1model => format!("register<{ty}>({size}) {name};"),
            _ => format!("Register<{ty}, bit<32>>({size}) {name};"),
        }
    }

    /// A statement that reads a register's cell.
    pub(crate) fn read(self, register: &str, index: &str, target: &str) -> String {
        match self {
            Architecture::V1model => format!("{register}.read({target}, {index});"),
            _ => format!("{target} = {register}.read({index});"),
        }
    }
}

/// v1model's metadata, as far as programs use them.
const STANDARD_METADATA: &str = "\
struct standard_metadata_t {
    bit<9>  ingress_port;
    bit<9>  egress_spec;
    bit<32> packet_length;
    bit<32> instance_type;
    bit<1>  checksum_error;
    bit<16> egress_rid;
    bit<3>  priority;
}
void mark_to_drop(inout standard_metadata_t sm) {
    sm.egress_spec = 511;
}";

/// The rest of a PSA program. `I` may exit: the packet goes to port 2 then.
const PSA: &str = "\
struct none_t { }
struct carried_t { bit<8> a; bit<32> b; }
struct all_metadata { metadata meta; standard_metadata_t sm; }
parser InParser(packet_in packet, out headers hdr, inout all_metadata md, in psa_ingress_parser_input_metadata_t istd,
                in carried_t resubmitted, in carried_t recirculated) {
    P() p;
    state start {
        md.sm.ingress_port = (bit<9>) (PortIdUint_t) istd.ingress_port;
        md.sm.packet_length = resubmitted.b ^ recirculated.b;
        p.apply(packet, hdr, md.meta, md.sm);
        transition accept;
    }
}
control In(inout headers hdr, inout all_metadata md, in psa_ingress_input_metadata_t istd,
           inout psa_ingress_output_metadata_t ostd) {
    I() I;
    apply {
        send_to_port(ostd, (PortId_t) (PortIdUint_t) 2);
        bool again = istd.packet_path == PSA_PacketPath_t.RESUBMIT || istd.packet_path == PSA_PacketPath_t.RECIRCULATE;
        md.sm.instance_type = again ? 32w1 : 0;
        I.apply(hdr, md.meta, md.sm);
        if (md.sm.egress_spec == 511) {
            ingress_drop(ostd);
        } else {
            send_to_port(ostd, (PortId_t) (PortIdUint_t) md.sm.egress_spec);
        }
        TRAFFIC_IN
    }
}
control InDeparser(packet_out packet, out carried_t cloned, out carried_t resubmitted, out carried_t normal, inout headers hdr,
                   in all_metadata md, in psa_ingress_output_metadata_t ostd) {
    D() d;
    apply {
        if (psa_clone_i2e(ostd)) { cloned = { 1, md.sm.instance_type }; }
        if (psa_resubmit(ostd)) { resubmitted = { 2, md.sm.packet_length + 5 }; }
        if (psa_normal(ostd)) { normal = { 3, (bit<32>) md.sm.ingress_port }; }
        d.apply(packet, hdr);
    }
}
parser OutParser(packet_in packet, out headers hdr, inout all_metadata md, in psa_egress_parser_input_metadata_t istd,
                 in carried_t normal, in carried_t cloned, in carried_t cloned_again) {
    P() p;
    state start {
        md.sm.packet_length = normal.b ^ cloned.b ^ cloned_again.b;
        p.apply(packet, hdr, md.meta, md.sm);
        transition accept;
    }
}
control Out(inout headers hdr, inout all_metadata md, in psa_egress_input_metadata_t istd, inout psa_egress_output_metadata_t ostd) {
    E() E;
    apply {
        md.sm.ingress_port = (bit<9>) (PortIdUint_t) istd.egress_port;
        md.sm.egress_rid = (bit<16>) (EgressInstanceUint_t) istd.instance;
        E.apply(hdr, md.meta, md.sm);
        if (md.sm.egress_spec == 511) {
            egress_drop(ostd);
        }
        TRAFFIC_OUT
    }
}
control OutDeparser(packet_out packet, out carried_t cloned, out carried_t recirculated, inout headers hdr, in all_metadata md,
                    in psa_egress_output_metadata_t ostd, in psa_egress_deparser_input_metadata_t istd) {
    D() d;
    apply {
        if (psa_clone_e2e(ostd)) { cloned = { 4, md.sm.packet_length }; }
        d.apply(packet, hdr);
    }
}
IngressPipeline(InParser(), In(), InDeparser()) ingress;
EgressPipeline(OutParser(), Out(), OutDeparser()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;";

const PSA_TRAFFIC_IN: &str = "\
if (md.sm.ingress_port[0:0] == 1 && md.sm.priority > 4) {
            ostd.clone = true;
            ostd.clone_session_id = (CloneSessionId_t) (CloneSessionIdUint_t) 3;
        }
        if (md.sm.priority == 1 && istd.packet_path != PSA_PacketPath_t.RESUBMIT) {
            ostd.resubmit = true;
        }
        if (md.sm.priority == 2) {
            multicast(ostd, (MulticastGroup_t) (MulticastGroupUint_t) 2);
        }";
const PSA_TRAFFIC_OUT: &str = "\
if (istd.packet_path != PSA_PacketPath_t.CLONE_E2E && md.sm.priority > 4) {
            ostd.clone = true;
            ostd.clone_session_id = (CloneSessionId_t) (CloneSessionIdUint_t) 1;
        }";

/// The rest of a Tofino program.
const TNA: &str = "\
header carried_t { bit<8> kind; bit<32> value; }
struct all_metadata { metadata meta; standard_metadata_t sm; carried_t bridge; }
struct seen_t { bit<9> port; bit<3> priority; }
parser InParser(packet_in packet, out headers hdr, out all_metadata md, out ingress_intrinsic_metadata_t intrinsic) {
    P() p;
    carried_t resubmitted;
    state start {
        packet.extract(intrinsic);
        md.sm.ingress_port = intrinsic.ingress_port;
        md.sm.instance_type = (bit<32>) intrinsic.resubmit_flag;
        transition select(intrinsic.resubmit_flag) {
            1: again;
            default: first;
        }
    }
    state again {
        packet.extract(resubmitted);
        packet.advance(PORT_METADATA_SIZE - 40);
        md.sm.packet_length = resubmitted.value;
        transition headers;
    }
    state first {
        packet.advance(PORT_METADATA_SIZE);
        transition headers;
    }
    state headers {
        p.apply(packet, hdr, md.meta, md.sm);
        transition accept;
    }
}
control In(inout headers hdr, inout all_metadata md, in ingress_intrinsic_metadata_t intrinsic,
           in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
           inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    I() I;
    apply {
        for_tm.ucast_egress_port = 2;
        // Packets with errors are dropped unless the program reads them.
        md.sm.egress_rid = from_parser.parser_err;
        I.apply(hdr, md.meta, md.sm);
        for_tm.ucast_egress_port = md.sm.egress_spec;
        for_deparser.drop_ctl = md.sm.egress_spec == 511 ? 3w1 : 0;
        md.bridge.setValid();
        md.bridge = { 0, (bit<32>) md.sm.ingress_port };
        TRAFFIC_IN
    }
}
control InDeparser(packet_out packet, inout headers hdr, in all_metadata md, in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    D() d;
    Mirror() mirror;
    Resubmit() resubmit;
    Digest<seen_t>() digest;
    apply {
        if (for_deparser.mirror_type == 1) { mirror.emit<carried_t>(3, { 1, md.sm.packet_length }); }
        if (for_deparser.resubmit_type == 1) { resubmit.emit<carried_t>({ 2, (bit<32>) md.sm.priority }); }
        if (for_deparser.digest_type == 1) { digest.pack({ md.sm.ingress_port, md.sm.priority }); }
        packet.emit(md.bridge);
        d.apply(packet, hdr);
    }
}
parser OutParser(packet_in packet, out headers hdr, out all_metadata md, out egress_intrinsic_metadata_t intrinsic) {
    P() p;
    carried_t carried;
    state start {
        packet.extract(intrinsic);
        // Of the packet, or of its mirrored copy.
        packet.extract(carried);
        md.sm.instance_type = (bit<32>) carried.kind ^ carried.value;
        md.sm.ingress_port = intrinsic.egress_port;
        md.sm.egress_rid = intrinsic.egress_rid;
        md.sm.packet_length = (bit<32>) intrinsic.pkt_length;
        p.apply(packet, hdr, md.meta, md.sm);
        transition accept;
    }
}
control Out(inout headers hdr, inout all_metadata md, in egress_intrinsic_metadata_t intrinsic,
            in egress_intrinsic_metadata_from_parser_t from_parser, inout egress_intrinsic_metadata_for_deparser_t for_deparser,
            inout egress_intrinsic_metadata_for_output_port_t for_port) {
    E() E;
    apply {
        E.apply(hdr, md.meta, md.sm);
        for_deparser.drop_ctl = md.sm.egress_spec == 511 ? 3w1 : 0;
    }
}
control OutDeparser(packet_out packet, inout headers hdr, in all_metadata md, in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    D() d;
    apply {
        d.apply(packet, hdr);
    }
}
Pipeline(InParser(), In(), InDeparser(), OutParser(), Out(), OutDeparser()) pipe;
Switch(pipe) main;";

const TNA_TRAFFIC_IN: &str = "\
for_deparser.mirror_type = md.sm.priority > 4 ? 3w1 : 0;
        for_deparser.resubmit_type = md.sm.priority == 1 && intrinsic.resubmit_flag == 0 ? 3w1 : 0;
        for_deparser.digest_type = intrinsic.ingress_port[0:0] == 1 ? 3w1 : 0;
        if (md.sm.priority == 2) {
            for_tm.mcast_grp_a = 2;
        }
        if (md.sm.priority == 4) {
            for_tm.bypass_egress = 1;
        }";

impl Generator {
    /// Declares v1model's metadata in programs for other architectures.
    pub(crate) fn standard_metadata(&mut self) {
        if self.config.architecture != Architecture::V1model {
            self.line(STANDARD_METADATA);
        }
    }

    /// What is around the program's parts.
    pub(crate) fn package(&mut self) {
        let traffic = self.config.traffic;
        let (text, ingress, egress) = match self.config.architecture {
            Architecture::V1model => ("V1Switch(P(), V(), I(), E(), C(), D()) main;", "", ""),
            Architecture::Psa => (PSA, PSA_TRAFFIC_IN, PSA_TRAFFIC_OUT),
            Architecture::Tna => (TNA, TNA_TRAFFIC_IN, ""),
        };
        let of = |text: &'static str| if traffic { text } else { "" };
        self.line(text.replace("TRAFFIC_IN", of(ingress)).replace("TRAFFIC_OUT", of(egress)));
    }
}
