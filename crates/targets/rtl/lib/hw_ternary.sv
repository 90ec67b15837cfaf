// Ternary match: a TCAM in RAM. For each chunk of the key a memory says which entries accept which value. Entry 0 has the highest
// priority. Latency 4 + log4(chunks + 1) + log4(`ENTRIES`), one lookup a cycle.
//
// Writes: `wr_addr` is {kind, low}, see the README. A new entry's data are written after its chunks: lookups that have matched
// the old entry at the same place have read the old data by then.
module hw_ternary #(
    parameter int KEY_BITS = 32,
    parameter int DATA_BITS = 16,
    parameter int ENTRIES = 16,
    parameter int CHUNK_BITS = 4,
    localparam int CHUNKS = (KEY_BITS + CHUNK_BITS - 1) / CHUNK_BITS,
    localparam int ENTRY_BITS = ENTRIES > 1 ? $clog2(ENTRIES) : 1,
    localparam int CHUNK_LOW = $clog2(CHUNKS) + CHUNK_BITS,
    localparam int LOW_BITS = CHUNK_LOW > $clog2(ENTRIES) ? CHUNK_LOW : $clog2(ENTRIES),
    localparam int WR_BITS = ENTRIES > DATA_BITS ? ENTRIES : DATA_BITS
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic                 in_valid,
    input  logic [KEY_BITS-1:0]  in_key,
    output logic                 out_valid,
    output logic                 out_hit,
    output logic [DATA_BITS-1:0] out_data,
    input  logic                 wr_en,
    input  logic [LOW_BITS+1:0]  wr_addr,
    input  logic [WR_BITS-1:0]   wr_data
);
    localparam int ANDS = ($clog2(CHUNKS + 1) + 1) / 2;  // Stages.
    localparam int ORS = ($clog2(ENTRIES) + 1) / 2;
    localparam int TERMS = 4 ** ANDS;
    localparam int NODES = 4 ** ORS;
    localparam int LATENCY = 4 + ANDS + ORS;

    logic [LATENCY-1:0] valids;
    assign out_valid = valids[LATENCY-1];
    always_ff @(posedge clk) valids <= rst ? '0 : {valids[LATENCY-2:0], in_valid};

    logic [1:0]          wr_kind;
    logic [LOW_BITS-1:0] wr_low;
    assign {wr_kind, wr_low} = wr_addr;

    // Entries that are valid, and those that accept each chunk; the rest of the terms are ones.
    logic [ENTRIES-1:0] entries_valid;
    always_ff @(posedge clk) begin
        if (rst) entries_valid <= '0;
        else if (wr_en && wr_kind == 2'd2) entries_valid <= wr_data[ENTRIES-1:0];
    end
    logic [CHUNKS*CHUNK_BITS-1:0]        key;
    logic [(ANDS+1)*TERMS*ENTRIES-1:0] terms;
    assign key = (CHUNKS * CHUNK_BITS)'(in_key);
    generate
        for (genvar t = 0; t < TERMS; t++) begin : term
            if (t == 0) assign terms[0+:ENTRIES] = entries_valid;
            else if (t > CHUNKS) assign terms[t*ENTRIES+:ENTRIES] = '1;
            else begin : chunk
                hw_ram #(
                    .WIDTH(ENTRIES),
                    .DEPTH(2 ** CHUNK_BITS)
                ) accepted (
                    .clk,
                    .rd_addr(key[(t-1)*CHUNK_BITS+:CHUNK_BITS]),
                    .rd_data(terms[t*ENTRIES+:ENTRIES]),
                    .wr_en(wr_en && wr_kind == 2'd0 && wr_low >> CHUNK_BITS == LOW_BITS'(t - 1)),
                    .wr_addr(wr_low[CHUNK_BITS-1:0]),
                    .wr_data(wr_data[ENTRIES-1:0])
                );
            end
        end
        // Ands of four.
        for (genvar s = 0; s < ANDS; s++) begin : ands
            logic [TERMS*ENTRIES-1:0]   from;
            logic [TERMS*ENTRIES/4-1:0] all;
            assign from = terms[s*TERMS*ENTRIES+:TERMS*ENTRIES];
            assign terms[(s+1)*TERMS*ENTRIES+:TERMS*ENTRIES] = {{TERMS * ENTRIES * 3 / 4{1'b1}}, all};
            always_ff @(posedge clk)
                for (int t = 0; t < TERMS / 4; t++)
                    all[t*ENTRIES+:ENTRIES] <= from[4*t*ENTRIES+:ENTRIES] & from[(4*t+1)*ENTRIES+:ENTRIES]
                        & from[(4*t+2)*ENTRIES+:ENTRIES] & from[(4*t+3)*ENTRIES+:ENTRIES];
        end
    endgenerate

    // The first of four, again and again: whether there is one, and its number so far.
    localparam int I = ORS > 0 ? 2 * ORS : 1;
    logic [(ORS+1)*NODES-1:0]   founds;
    logic [(ORS+1)*NODES*I-1:0] firsts;
    assign founds[0+:NODES]   = NODES'(terms[ANDS*TERMS*ENTRIES+:ENTRIES]);
    assign firsts[0+:NODES*I] = '0;
    generate
        for (genvar s = 0; s < ORS; s++) begin : ors
            logic [NODES-1:0]       from;
            logic [NODES*I-1:0]     from_firsts;
            logic [NODES/4-1:0]     found;
            logic [NODES/4*I-1:0] first;
            assign from        = founds[s*NODES+:NODES];
            assign from_firsts = firsts[s*NODES*I+:NODES*I];
            assign founds[(s+1)*NODES+:NODES]       = NODES'(found);
            assign firsts[(s+1)*NODES*I+:NODES*I] = (NODES * I)'(first);
            always_ff @(posedge clk)
                for (int n = 0; n < NODES / 4; n++) begin
                    found[n] <= |from[4*n+:4];
                    if (from[4*n]) first[n*I+:I] <= from_firsts[4*n*I+:I];
                    else if (from[4*n+1]) first[n*I+:I] <= from_firsts[(4*n+1)*I+:I] | I'(1 << 2 * s);
                    else if (from[4*n+2]) first[n*I+:I] <= from_firsts[(4*n+2)*I+:I] | I'(2 << 2 * s);
                    else first[n*I+:I] <= from_firsts[(4*n+3)*I+:I] | I'(3 << 2 * s);
                end
        end
    endgenerate

    logic found_q;
    always_ff @(posedge clk) {out_hit, found_q} <= {found_q, founds[ORS*NODES]};
    hw_ram #(
        .WIDTH(DATA_BITS),
        .DEPTH(ENTRIES)
    ) datas (
        .clk,
        .rd_addr(firsts[ORS*NODES*I+:ENTRY_BITS]),
        .rd_data(out_data),
        .wr_en(wr_en && wr_kind == 2'd1),
        .wr_addr(ENTRY_BITS'(wr_low)),
        .wr_data(wr_data[DATA_BITS-1:0])
    );

    // What is left at the narrow ends of both trees.
    logic unused;
    assign unused = &{1'b0, wr_data, terms, founds, firsts};
endmodule
