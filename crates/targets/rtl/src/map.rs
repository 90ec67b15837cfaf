//! The register map: how a driver writes tables and accesses counters and registers.
//!
//! Addresses are of bytes, words have 32 bits:
//!
//! | address | write | read |
//! | --- | --- | --- |
//! | `0x0000` + 4 × i | word i of the data of the next write | word i of the last answer |
//! | `0x1000` + 4 × memory | writes the data to this address of the memory, at once | 1 while the memory must not be written |
//! | `0x2000` + 4 × object | accesses the cell of this index: reads it and, with bit 31 set, writes the data | 1 while an access runs |
//! | `0x3000` | | [`MAGIC`] |
//! | `0x3004` | | [`VERSION`] of this map |
//! | `0x3008`, `0x300c` | | lower and upper half of the design's [hash](Map::hash) |
//! | `0x3010` | whatever is written clears it | 1 after a reset |
//!
//! Word 0 of the data has the lowest bits. Of a memory's data all words are written for each write, the highest first. All packets that come when the bus is ready again see a write to a memory.

use std::fmt::Write;

use crate::cost::Cost;
use crate::target::Target;
use hopwright_ir::Pipeline;

/// Where the data of writes begin.
pub const DATA: u32 = 0x0000;
/// Where memories begin.
pub const MEMORIES: u32 = 0x1000;
/// Where counters and registers begin.
pub const OBJECTS: u32 = 0x2000;

/// Where the identity of the design begins.
pub const IDENTITY: u32 = 0x3000;
/// The word that is one after a reset, until it is written.
pub const STATUS: u32 = IDENTITY + 16;

/// What the first word of the identity is: `HWRT`.
pub const MAGIC: u32 = u32::from_be_bytes(*b"HWRT");
/// The version of the register map, which changes when a driver has to.
pub const VERSION: u32 = 1;
/// What stands for the hash in a design, until it is known.
const HASH: &str = "64'h@HASH@";

/// Bits of a count.
pub(crate) const COUNT_BITS: u32 = 64;
/// Bits of a meter's rate in tokens a second.
pub const METER_RATE_BITS: u32 = 40;
/// Bits of a meter's burst in tokens.
pub const METER_BURST_BITS: u32 = 32;
/// Bits more, for millionths of tokens.
pub const METER_FRACTION_BITS: u32 = 20;
/// Bits of a meter's cell: whether it is configured, and both rates with their bursts.
pub(crate) const METER_BITS: u32 = 1 + 2 * (METER_RATE_BITS + METER_BURST_BITS + METER_FRACTION_BITS);

/// Words of data that shift together.
const SHIFTED: u32 = 2;

/// Buckets of the memory of multicast groups.
pub(crate) const GROUP_BUCKETS: u64 = 32;
/// Buckets of the memory of clone sessions.
pub(crate) const SESSION_BUCKETS: u64 = 8;
/// Entries of a bucket of groups or sessions.
pub(crate) const COPY_SLOTS: u32 = 4;

/// What a memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// The default action of a table.
    Default,
    /// `hw_index`.
    Index,
    /// `hw_exact`.
    Exact {
        /// Buckets for each function.
        buckets: u64,
        /// Entries of a bucket.
        slots: u32,
        /// For how many cycles more address and data of a write stay.
        hold: u32,
    },
    /// `hw_lpm`.
    Lpm {
        /// Levels of the search.
        levels: u32,
    },
    /// The keys of ciphers: `hw_aes128`, or `hw_cmac`, which has subkeys, too.
    Keys {
        /// How many.
        keys: u64,
    },
    /// `hw_ternary`.
    Ternary {
        /// Entries.
        entries: u32,
        /// Chunks of the key.
        chunks: u32,
    },
    /// `hw_masked`.
    Masked {
        /// Lanes that look up masks at the same time.
        lanes: u32,
        /// Masks of a lane.
        passes: u32,
        /// Buckets of a lane for each function.
        buckets: u64,
        /// Entries of a bucket.
        slots: u32,
        /// Bits of the number that says which entry came first.
        sequence_bits: u32,
        /// For how many cycles more address and data of a write stay.
        hold: u32,
    },
    /// Lists of ports to which packets are copied: `hw_replicate`.
    Lists {
        /// Members of all lists.
        words: u32,
    },
    /// Actions of a table with an action profile: members of groups behind each other.
    Members {
        /// Members of all lists.
        words: u32,
    },
}

impl MemoryKind {
    /// Whether writes fill one part of the memory while packets use another one, so that they have to wait after a change.
    pub(crate) fn has_banks(self) -> bool {
        matches!(self, MemoryKind::Lpm { .. } | MemoryKind::Lists { .. } | MemoryKind::Members { .. })
    }
}

/// A memory that a driver writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The table or object.
    pub name: String,
    /// Its engine.
    pub kind: MemoryKind,
    /// The width of addresses.
    pub addr_bits: u32,
    /// The width of a word.
    pub data_bits: u32,
    /// The width of the table's key.
    pub key_bits: u32,
}

/// A counter or a register array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateObject {
    /// Its name.
    pub name: String,
    /// `counter`, `register` or `meter`. A meter is written and not read.
    pub kind: &'static str,
    /// The number of cells.
    pub size: u64,
    /// The width of a cell; of a counter of both, packets are in the upper half and bytes in the lower one.
    pub bits: u32,
    /// Whether packets are counted.
    pub packets: bool,
    /// Whether bytes are counted.
    pub bytes: bool,
}

impl StateObject {
    /// The width of an index of a cell.
    fn index_bits(&self) -> u32 {
        self.size.max(2).next_power_of_two().ilog2()
    }
}

/// The register map of a design.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// The program.
    pub program: String,
    /// The target.
    pub target: String,
    /// Memories by number.
    pub memories: Vec<Memory>,
    /// Counters and registers by number.
    pub objects: Vec<StateObject>,
    /// A hash of the design, from which its map and its actions' encodings follow.
    pub hash: u64,
}

impl Map {
    /// An empty map.
    pub(crate) fn new(pipeline: &Pipeline, target: &Target) -> Map {
        Map { program: pipeline.name.clone(), target: target.name.clone(), ..Map::default() }
    }

    /// Gives a design its hash: that of its text, without comments, and of the map.
    pub(crate) fn identify(&mut self, text: &mut String) {
        let code = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code).trim_end());
        let map = self.json();
        // FNV-1a: the same in every release.
        let byte = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.hash = code.chain([map.as_str()]).flat_map(str::bytes).fold(0xcbf2_9ce4_8422_2325, byte);
        *text = text.replace(HASH, &format!("64'h{:016x}", self.hash));
    }

    /// Words of the widest data of a memory, and of an object.
    fn words(&self) -> (u32, u32) {
        let memories = self.memories.iter().map(|m| m.data_bits).max();
        let objects = self.objects.iter().map(|o| o.bits).max();
        let words = |bits: Option<u32>| bits.unwrap_or(1).div_ceil(32).max(1);
        (words(memories), words(objects))
    }

    /// The ports of the pipeline's module for the driver's accesses.
    pub(crate) fn ports() -> &'static str {
        "    input  logic        bus_wr_en,\n    output logic        bus_wr_ready,\n    input  logic [15:0] bus_wr_addr,\n    \
         input  logic [31:0] bus_wr_data,\n    input  logic        bus_rd_en,\n    input  logic [15:0] bus_rd_addr,\n    \
         output logic        bus_rd_valid,\n    output logic [31:0] bus_rd_data"
    }

    /// The connections of an object's engine.
    pub(crate) fn object_ports(&self, number: usize) -> String {
        let object = &self.objects[number];
        format!(
            ".ctl_valid(object_asks[{number}]), .ctl_ready(object_ready[{number}]), .ctl_write(object_write), \
             .ctl_index(object_index_{number}[{}:0]), .ctl_wdata(bus_data[{}:0]), .ctl_done(object_done[{number}]), \
             .ctl_rdata(object_{number})",
            object.index_bits() - 1,
            object.bits - 1
        )
    }

    /// The logic between the bus and the engines. `switching` are signals of engines that are high while a memory, by number, must
    /// not be written.
    ///
    /// The bus is at one place of the chip and the engines are all over it. What is written passes the memories one after the other, a cycle
    /// each, and each takes what it is for into copies of its own. Objects have copies of the address, and a register for their answer.
    /// Nothing is written before the reset arrives: what says that there is a write has an initial value.
    pub(crate) fn logic(&self, switching: &[(usize, String)]) -> String {
        let bus = BusWidths::of(self);
        let mut out = String::new();
        bus.declare(&mut out);
        self.memory_chain(&mut out, bus.index_bits);
        self.object_registers(&mut out);
        for (_, signal) in switching {
            let _ = writeln!(out, "    logic {signal};");
        }
        (0..bus.memories).for_each(|number| out.push_str(&memory_busy(number, switching)));
        bus.receive_writes(&mut out);
        self.object_accesses(&mut out, &bus);
        answer_reads(&mut out);
        if self.objects.is_empty() {
            out.push_str("    assign object_ready = '0;\n    assign object_done = '0;\n");
        }
        identity(&mut out);
        out
    }

    /// The registers through which writes pass the memories.
    fn memory_chain(&self, out: &mut String, index_bits: u32) {
        let [mut word, mut address, mut index, mut data] =
            ["bus_word", "bus_address", "bus_index", "bus_wr_data_1"].map(str::to_string);
        for (number, memory) in self.memories.iter().enumerate() {
            let Memory { addr_bits, data_bits, .. } = memory;
            let words = data_bits.div_ceil(32);
            let _ = writeln!(
                out,
                "    logic word_{number} = 1'b0, address_{number} = 1'b0, mem_put_{number} = 1'b0;\n    logic [{}:0] index_{number};\n    \
                 logic [31:0] bus_{number};\n    logic [{}:0] words_{number};\n    logic [{}:0] shifted_{number};\n    logic [{}:0] mem_data_{number};\n    \
                 assign shifted_{number} = {{words_{number}, bus_{number}}};\n    assign mem_data_{number} = words_{number}[{}:0];\n    always_ff @(posedge clk) begin\n        word_{number} <= {word};\n        \
                 address_{number} <= {address};\n        index_{number} <= {index};\n        bus_{number} <= {data};\n        \
                 mem_put_{number} <= address_{number} && index_{number} == {index_bits}'d{number};",
                index_bits - 1,
                32 * words - 1,
                32 * words + 31,
                data_bits - 1,
                data_bits - 1
            );
            // A default action has no address.
            if memory.kind == MemoryKind::Default {
                out.push_str("    end\n");
            } else {
                let _ = writeln!(
                    out,
                    "        if (address_{number}) mem_addr_{number} <= bus_{number}[{0}:0];\n    end\n    logic [{0}:0] mem_addr_{number};",
                    addr_bits - 1
                );
            }
            // Each word comes from the one below it. What says so has copies for a few words each.
            for first in (0..words).step_by(SHIFTED as usize) {
                let bits = format!("[{}:{}]", 32 * (first + SHIFTED).min(words) - 1, 32 * first);
                let _ = writeln!(
                    out,
                    "    logic shifts_{number}_{first} = 1'b0;\n    (* keep *) always_ff @(posedge clk) shifts_{number}_{first} <= {word};\n    \
                     always_ff @(posedge clk) if (shifts_{number}_{first}) words_{number}{bits} <= shifted_{number}{bits};"
                );
            }
            (word, address) = (format!("word_{number}"), format!("address_{number}"));
            (index, data) = (format!("index_{number}"), format!("bus_{number}"));
        }
    }

    /// The copies that objects have of the address, and the registers for their answers.
    fn object_registers(&self, out: &mut String) {
        for (number, object) in self.objects.iter().enumerate() {
            let _ = writeln!(
                out,
                "    logic [{}:0] object_{number}, object_answer_{number};\n    logic [{}:0] object_index_{number};\n    \
                 (* keep *) always_ff @(posedge clk) begin\n        object_index_{number} <= object_index[{1}:0];\n        \
                 object_answer_{number} <= object_done[{number}] ? object_{number} : '0;\n    end",
                object.bits - 1,
                object.index_bits() - 1
            );
        }
    }

    /// What writes data and addresses of objects, and takes their answers; the body of a process that [`BusWidths::receive_writes`] begins.
    fn object_accesses(&self, out: &mut String, bus: &BusWidths) {
        for word in 0..bus.object_words as usize {
            let bits = format!("[{}:{}]", 32 * word + 31, 32 * word);
            let _ = writeln!(
                out,
                "        data_put[{word}] <= {};\n        if (data_put[{word}]) bus_data{bits} <= bus_wr_data_1;",
                bus.puts(0, word)
            );
        }
        for number in 0..self.objects.len() {
            let _ = writeln!(out, "        object_put[{number}] <= {};", bus.puts(2, number));
        }
        out.push_str(
            "        if (|object_put) begin\n            object_write <= bus_wr_data_1[31];\n            \
             object_index <= bus_wr_data_1[30:0];\n            object_busy <= 1'b1;\n        end\n        \
             object_valid <= object_put;\n        object_asks <= object_valid | (object_asks & ~object_ready);\n        \
             object_told <= object_done;\n",
        );
        let answers = (0..self.objects.len()).map(|number| format!("{}'(object_answer_{number})", bus.bits));
        let _ = writeln!(
            out,
            "        if (|object_told) begin\n            bus_answer <= {};\n            object_busy <= 1'b0;\n        end",
            answers.chain((self.objects.is_empty()).then(|| "'0".into())).collect::<Vec<_>>().join(" | ")
        );
    }

    /// What the register map takes beside what it writes and reads.
    pub(crate) fn cost(&self) -> Cost {
        // A memory has its data and a word on the way to the next one, an object an answer.
        let memory = |memory: &Memory| u64::from(memory.data_bits + memory.addr_bits) + 48;
        let object = |object: &StateObject| u64::from(object.bits + object.index_bits());
        let answers = self.objects.iter().map(|object| u64::from(object.bits));
        let (most, all) = (answers.clone().max().unwrap_or(0), answers.sum::<u64>());
        let registers = self.memories.iter().map(memory).sum::<u64>()
            + self.objects.iter().map(object).sum::<u64>()
            + 2 * most
            + 240;
        let luts = 16 * self.memories.len() as u64 + all + most + 100;
        Cost::default().with(luts, registers)
    }

    /// The map as JSON.
    pub fn json(&self) -> String {
        let mut out = format!(
            "{{\n  \"program\": {},\n  \"target\": {},\n  \"version\": {VERSION},\n  \"hash\": \"{:016x}\",\n  \"memories\": [\n",
            quoted(&self.program),
            quoted(&self.target),
            self.hash
        );
        let memories: Vec<String> = self.memories.iter().enumerate().map(|(i, m)| memory(i, m)).collect();
        out.push_str(&memories.join(",\n"));
        out.push_str("\n  ],\n  \"objects\": [\n");
        let objects = self.objects.iter().enumerate().map(|(i, o)| {
            let StateObject { name, kind, size, bits, packets, bytes } = o;
            format!(
                "    {{\"name\": {}, \"kind\": \"{kind}\", \"address\": {}, \"size\": {size}, \"bits\": {bits}, \
                 \"packets\": {packets}, \"bytes\": {bytes}}}",
                quoted(name),
                OBJECTS + 4 * i as u32
            )
        });
        out.push_str(&objects.collect::<Vec<_>>().join(",\n"));
        out.push_str("\n  ]\n}\n");
        out
    }

    /// Adds a memory; returns its number.
    pub(crate) fn add_memory(&mut self, memory: Memory) -> usize {
        self.memories.push(memory);
        self.memories.len() - 1
    }

    /// The number of a memory, which is added if there is none like it.
    pub(crate) fn memory(&mut self, memory: Memory) -> usize {
        match self.memories.iter().position(|m| *m == memory) {
            Some(at) => at,
            None => self.add_memory(memory),
        }
    }

    /// Adds an object; returns its number.
    pub(crate) fn add_object(&mut self, object: StateObject) -> usize {
        self.objects.push(object);
        self.objects.len() - 1
    }
}

fn memory(number: usize, memory: &Memory) -> String {
    let Memory { name, kind, addr_bits, data_bits, key_bits } = memory;
    let (engine, parameters) = match kind {
        MemoryKind::Default => ("default", String::new()),
        MemoryKind::Index => ("index", String::new()),
        MemoryKind::Exact { buckets, slots, .. } => ("exact", format!(", \"buckets\": {buckets}, \"slots\": {slots}")),
        MemoryKind::Lpm { levels } => ("lpm", format!(", \"levels\": {levels}")),
        MemoryKind::Keys { keys } => ("keys", format!(", \"keys\": {keys}")),
        MemoryKind::Lists { words } => ("lists", format!(", \"words\": {words}")),
        MemoryKind::Members { words } => ("members", format!(", \"words\": {words}")),
        MemoryKind::Ternary { entries, chunks } => {
            ("ternary", format!(", \"entries\": {entries}, \"chunks\": {chunks}"))
        }
        MemoryKind::Masked { lanes, passes, buckets, slots, sequence_bits, .. } => (
            "masked",
            format!(
                ", \"lanes\": {lanes}, \"passes\": {passes}, \"buckets\": {buckets}, \"slots\": {slots}, \"sequence_bits\": {sequence_bits}"
            ),
        ),
    };
    format!(
        "    {{\"table\": {}, \"engine\": \"{engine}\", \"address\": {}, \"addr_bits\": {addr_bits}, \"data_bits\": \
         {data_bits}, \"key_bits\": {key_bits}{parameters}}}",
        quoted(name),
        MEMORIES + 4 * number as u32
    )
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The widths of what is between the bus and the engines.
struct BusWidths {
    /// Words of the widest data of a memory, and of an object.
    memory_words: u32,
    object_words: u32,
    /// Bits of the data of objects.
    bits: u32,
    /// Numbers of memories and objects; one if there is none.
    memories: usize,
    objects: usize,
    /// How long address and data of a write to a memory stay.
    hold: usize,
    index_bits: u32,
    /// The bits of the numbers that writes may have: of words, memories and objects.
    put_bits: [u32; 3],
    most_put_bits: u32,
}

impl BusWidths {
    fn of(map: &Map) -> BusWidths {
        let ((memory_words, object_words), memories, objects) =
            (map.words(), map.memories.len().max(1), map.objects.len().max(1));
        let holds = map.memories.iter().map(|memory| match memory.kind {
            MemoryKind::Exact { hold, .. } | MemoryKind::Masked { hold, .. } => hold,
            _ => 0,
        });
        // The last memory is written this many cycles later than the first.
        let hold = holds.fold(4, u32::max) as usize + memories - 1;
        let number_bits = |numbers: usize| usize::BITS - (numbers - 1).max(1).leading_zeros();
        let index_bits = number_bits(memories);
        let put_bits = [number_bits(memory_words.max(object_words) as usize), index_bits, number_bits(objects)];
        let most_put_bits = put_bits.into_iter().fold(0, u32::max);
        let bits = 32 * object_words;
        BusWidths { memory_words, object_words, bits, memories, objects, hold, index_bits, put_bits, most_put_bits }
    }

    /// A condition: a write has this kind and this number.
    fn puts(&self, kind: usize, number: usize) -> String {
        let bits = self.put_bits[kind];
        format!("bus_puts[{kind}] && bus_put_addr[{}:0] == {bits}'d{number}", bits - 1)
    }

    fn declare(&self, out: &mut String) {
        let BusWidths { memory_words, object_words, memories, objects, index_bits, .. } = *self;
        let _ = write!(
            out,
            "    // The register map.\n    logic [{}:0] bus_data, bus_answer;\n    logic [{}:0] object_valid, object_asks, \
             object_ready, object_done, object_told;\n    logic [{}:0] mem_busy;\n    logic object_write, object_busy;\n    logic [30:0] \
             object_index;\n    // Address and data of a write to a memory stay until it has taken effect.\n    logic [{}:0] bus_holds;\n    \
             // A write has a register, and then what it means. None comes in the meantime.\n    \
             logic bus_word = 1'b0, bus_address = 1'b0;\n    logic [2:0] bus_puts;  // Of each kind of object.\n    logic [{}:0] bus_index;\n    logic [{}:0] bus_put_addr;\n    logic [31:0] bus_put_data;\n    \
             // Objects are written three cycles later, and read one.\n    \
             logic [{}:0] data_put;\n    logic [{}:0] object_put;\n    logic [31:0] bus_wr_data_1, bus_rd_word, bus_rd_who;\n    \
             logic bus_asked, bus_rd_answer, bus_rd_memory, bus_rd_busy, bus_rd_identity;\n    \
             always_ff @(posedge clk) begin\n        \
             bus_word <= bus_puts[0] && 10'(bus_put_addr[{}:0]) < 10'd{memory_words};\n        \
             bus_address <= bus_puts[1] && 10'(bus_put_addr[{}:0]) < 10'd{memories};\n        \
             bus_index <= bus_put_addr[{}:0];\n    end\n",
            self.bits - 1,
            objects - 1,
            memories - 1,
            usize::BITS - self.hold.leading_zeros() - 1,
            index_bits - 1,
            self.most_put_bits - 1,
            object_words - 1,
            objects - 1,
            self.put_bits[0] - 1,
            index_bits - 1,
            index_bits - 1,
        );
    }

    /// Begins the process that takes writes from the bus, one after the other.
    fn receive_writes(&self, out: &mut String) {
        let BusWidths { hold, put_bits, most_put_bits, .. } = *self;
        let _ = write!(
            out,
            "    always_ff @(posedge clk) begin\n        bus_put_addr <= bus_wr_addr[{1}:2];\n        bus_put_data <= bus_wr_data;\n        bus_wr_data_1 <= bus_put_data;\n        \
             if (bus_address) bus_holds <= {0}'d{hold};\n        else if (bus_holds != '0) bus_holds <= bus_holds - 1'b1;\n        \
             bus_wr_ready <= !(bus_wr_en && bus_wr_ready) && bus_puts == '0 && !bus_address && bus_holds <= {0}'d1;\n        \
             if (rst) begin\n            bus_holds <= '0;\n            bus_wr_ready <= 1'b1;\n        end\n",
            usize::BITS - hold.leading_zeros(),
            most_put_bits + 1,
        );
        for (kind, bits) in put_bits.iter().enumerate() {
            let _ = writeln!(
                out,
                "        bus_puts[{kind}] <= bus_wr_en && bus_wr_ready && !rst && bus_wr_addr[15:{}] == {}'d{};",
                bits + 2,
                14 - bits,
                kind << (10 - bits)
            );
        }
    }
}

/// Whether a memory must not be written.
fn memory_busy(number: usize, switching: &[(usize, String)]) -> String {
    let signals = switching.iter().filter(|(memory, _)| *memory == number).map(|(_, signal)| signal.as_str());
    let signals = signals.collect::<Vec<_>>().join(" || ");
    // While a write is on its way they are not high yet.
    let busy = if signals.is_empty() { "1'b0".into() } else { format!("!bus_wr_ready || {signals}") };
    format!("    assign mem_busy[{number}] = {busy};\n")
}

/// Ends the process of [`Map::object_accesses`] with the answers to the bus.
fn answer_reads(out: &mut String) {
    out.push_str(
        "        if (rst) begin\n            object_put <= '0;\n            object_valid <= '0;\n            object_asks <= '0;\n            object_told <= '0;\n            object_busy <= 1'b0;\n        end\n        \
         bus_asked <= bus_rd_en && !bus_asked && !bus_rd_valid;\n        bus_rd_answer <= bus_rd_addr[15:12] == 4'd0;\n        \
         bus_rd_memory <= bus_rd_addr[15:12] == 4'd1;\n        bus_rd_word <= 32'(bus_answer >> {bus_rd_addr[11:2], 5'd0});\n        \
         bus_rd_busy <= 1'(mem_busy >> bus_rd_addr[11:2]);\n        bus_rd_valid <= bus_asked;\n        \
         bus_rd_data <= bus_rd_answer ? bus_rd_word : bus_rd_identity ? bus_rd_who : {31'd0, bus_rd_memory ? bus_rd_busy : object_busy || !bus_wr_ready};\n    end\n",
    );
}

/// Says who the design is, and whether there was a reset.
fn identity(out: &mut String) {
    let _ = write!(
        out,
        "    // Who the design is, and whether there was a reset since the driver began.\n    logic bus_fresh = 1'b1, bus_seen = 1'b0;\n    \
         localparam logic [63:0] HASH = {HASH};\n    always_ff @(posedge clk) begin\n        \
         bus_seen <= bus_wr_en && bus_wr_ready && bus_wr_addr[15:12] == 4'd3;\n        \
         bus_fresh <= rst || (bus_fresh && !bus_seen);\n        \
         bus_rd_identity <= bus_rd_addr[15:12] == 4'd3;\n        case (bus_rd_addr[4:2])\n            \
         3'd0: bus_rd_who <= 32'h{MAGIC:08x};\n            3'd1: bus_rd_who <= 32'd{VERSION};\n            \
         3'd2: bus_rd_who <= HASH[31:0];\n            3'd3: bus_rd_who <= HASH[63:32];\n            \
         default: bus_rd_who <= {{31'd0, bus_fresh}};\n        endcase\n    end\n"
    );
}
