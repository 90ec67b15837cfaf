// `BYTES` bytes at any offset of a stored packet, the first in the highest bits. The module keeps a copy of the packet store's
// memory, of `DEPTH` words, which it fills from the same writes. Bytes behind the end of the packet are not defined.
//
// Whole words are read (`PART` = `BUS_BYTES`), one a cycle: words = ceil((`BUS_BYTES` - 1 + `BYTES`) / `BUS_BYTES`) for a fetch. Latency
// 4 + words + log4(`BUS_BYTES`), one fetch every `words` cycles.
//
// Or parts of words are read, of `PART` bytes, a power of two from two on: parts = ceil(`BYTES` / `PART`) + 1 for a fetch. Latency
// 4 + parts + log4(`BUS_BYTES`) + log4(`PART`), one fetch every `parts` cycles. There are fewer bits to choose from then.
module hw_fetch #(
    parameter int BUS_BYTES = 64,
    parameter int DEPTH = 512,
    parameter int BYTES = 16,
    parameter int PART = BUS_BYTES,
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
    localparam int P = $clog2(PART);
    localparam int N = $clog2(BUS_BYTES) - P;
    localparam int A = B + N;

    // Fetches of several stages share the module: one of their offsets is chosen in the first cycle.
    logic         valid;
    logic [B-1:0] start;
    logic [15:0]  offset;
    always_ff @(posedge clk) begin
        valid  <= in_valid;
        start  <= in_start;
        offset <= in_offset;
    end

    // The first part's address, then those of the following ones.
    logic [A-1:0] part;
    always_ff @(posedge clk) part <= valid ? (A'(start) << N) + A'(offset >> P) : part + 1'b1;
    logic [W-1:0] read, turned;
    hw_ram #(
        .WIDTH(W),
        .DEPTH(DEPTH),
        .FORWARD(0)
    ) ram (
        .clk,
        .rd_addr(part[A-1:N]),
        .rd_data(read),
        .wr_en,
        .wr_addr,
        .wr_data
    );
    // With the first byte highest.
    generate
        for (genvar i = 0; i < BUS_BYTES; i++) begin : turn
            assign turned[8*(BUS_BYTES-1-i)+:8] = read[8*i+:8];
        end

        if (PART == BUS_BYTES) begin : whole
            localparam int WORDS = (BUS_BYTES - 1 + BYTES + BUS_BYTES - 1) / BUS_BYTES;
            localparam int SPAN = BUS_BYTES - 1 + BYTES;

            // The words that were read last, the oldest in the highest bits.
            logic [W*WORDS-1:0] words;
            always_ff @(posedge clk) words <= (W * WORDS)'({words, turned});

            // The offset within the first word waits until the last one is there.
            localparam int WAIT = 3 + WORDS;
            logic [WAIT*P-1:0] waiting;
            always_ff @(posedge clk) waiting <= {waiting[(WAIT-1)*P-1:0], P'(offset)};
            hw_extract #(
                .WINDOW_BYTES(SPAN),
                .BYTES(BYTES)
            ) extract (
                .clk,
                .in_window(words[W*WORDS-1-:8*SPAN]),
                .in_offset(waiting[WAIT*P-1-:P]),
                .out_data
            );
        end else begin : parts
            localparam int PARTS = (BYTES + PART - 1) / PART;
            localparam int CHOICE = $clog2(BUS_BYTES - PART + 1);  // Bits of the offset of a part in its word.
            localparam int WAIT = 3 + (CHOICE + 1) / 2;

            // The part is chosen from its word.
            logic [2*N-1:0] numbers;
            logic [8*PART-1:0] chosen, earlier;
            always_ff @(posedge clk) numbers <= {numbers[N-1:0], part[N-1:0]};
            hw_extract #(
                .WINDOW_BYTES(BUS_BYTES),
                .BYTES(PART)
            ) choose (
                .clk,
                .in_window(turned),
                .in_offset(CHOICE'(numbers[2*N-1:N]) << P),
                .out_data(chosen)
            );

            // Of two parts behind each other, the bytes from the offset within the first one on. The offset stays until that of the next
            // fetch comes, and is delayed as parts are.
            logic [P-1:0] low;
            logic [WAIT*P-1:0] waiting;
            logic [8*PART-1:0] bytes;
            logic [8*PART*PARTS-1:0] gathered;
            always_ff @(posedge clk) begin
                if (valid) low <= P'(offset);
                waiting <= {waiting[(WAIT-1)*P-1:0], low};
                earlier <= chosen;
            end
            hw_extract #(
                .WINDOW_BYTES(2 * PART - 1),
                .BYTES(PART)
            ) shift (
                .clk,
                .in_window({earlier, chosen[8*PART-1:8]}),
                .in_offset(waiting[WAIT*P-1-:P]),
                .out_data(bytes)
            );
            always_ff @(posedge clk) gathered <= (8 * PART * PARTS)'({gathered, bytes});
            assign out_data = gathered[8*PART*PARTS-1-:8*BYTES];
        end
    endgenerate
endmodule
