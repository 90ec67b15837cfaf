// `BYTES` bytes at any offset of a stored packet, the first in the highest bits. The module keeps a copy of the packet store's
// memory, of `DEPTH` words, which it fills from the same writes. Bytes behind the end of the packet are not defined.
//
// Latency 3 + words + log4(`BUS_BYTES`), where words = ceil((`BUS_BYTES` - 1 + `BYTES`) / `BUS_BYTES`); one fetch every `words` cycles.
module hw_fetch #(
    parameter int BUS_BYTES = 64,
    parameter int DEPTH = 512,
    parameter int BYTES = 16,
    localparam int B = $clog2(DEPTH)
) (
    input  logic                   clk,
    input  logic                   wr_en,
    input  logic [B-1:0]           wr_addr,
    input  logic [8*BUS_BYTES-1:0] wr_data,
    input  logic                   in_valid,
    input  logic [B-1:0]           in_start,
    input  logic [15:0]            in_offset,
    output logic [8*BYTES-1:0]     out_data
);
    localparam int W = 8 * BUS_BYTES;
    localparam int L = $clog2(BUS_BYTES);
    localparam int WORDS = (BUS_BYTES - 1 + BYTES + BUS_BYTES - 1) / BUS_BYTES;
    localparam int SPAN = BUS_BYTES - 1 + BYTES;

    // The first word's address, then those of the following ones.
    logic [B-1:0] addr;
    always_ff @(posedge clk) addr <= in_valid ? in_start + B'(in_offset >> L) : addr + 1'b1;
    logic [W-1:0] read;
    hw_ram #(
        .WIDTH(W),
        .DEPTH(DEPTH),
        .FORWARD(0)
    ) ram (
        .clk,
        .rd_addr(addr),
        .rd_data(read),
        .wr_en,
        .wr_addr,
        .wr_data
    );

    // The words that were read last, the oldest in the highest bits, and each with its first byte highest.
    logic [W*WORDS-1:0] words;
    logic [W-1:0]       turned;
    generate
        for (genvar i = 0; i < BUS_BYTES; i++) begin : turn
            assign turned[8*(BUS_BYTES-1-i)+:8] = read[8*i+:8];
        end
    endgenerate
    always_ff @(posedge clk) words <= (W * WORDS)'({words, turned});

    // The offset within the first word waits until the last one is there.
    localparam int WAIT = 3 + WORDS;
    logic [WAIT*L-1:0] waiting;
    always_ff @(posedge clk) waiting <= {waiting[(WAIT-1)*L-1:0], L'(in_offset)};
    hw_extract #(
        .WINDOW_BYTES(SPAN),
        .BYTES(BYTES)
    ) extract (
        .clk,
        .in_window(words[W*WORDS-1-:8*SPAN]),
        .in_offset(waiting[WAIT*L-1-:L]),
        .out_data
    );
endmodule
