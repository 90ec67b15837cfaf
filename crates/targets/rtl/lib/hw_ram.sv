// RAM with one read and one write a cycle. Latency 2: `rd_addr` in cycle t gives `rd_data` in cycle t + 2, from a register.
//
// A read sees the writes of its own cycle and of those before. With `RMW` it sees those of the next cycle, too: a value that is
// read in cycle t and written back, changed, in cycle t + 2 is seen by the read of cycle t + 1. With `RMW` 2 all writes are such: `wr_addr`
// is the `rd_addr` of two cycles before. Reads are compared with each other then, before it is known whether there is a write.
// `FORWARD` 0 saves the logic for that, where nobody ever reads a word in the cycle of its write.
//
// Memories of up to 32 words are distributed RAM, larger ones (or `BLOCK`) block RAM, and of more than a megabit what the tool has for them,
// such as UltraRAM. An address of `DEPTH` or more reads and writes something: callers check. Contents start as zeros: synthesis tools leave
// memories without initial value to the bitstream, where they are zeros; simulation says so.
module hw_ram #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 16,
    parameter int RMW = 0,
    parameter int FORWARD = 1,
    parameter bit BLOCK = DEPTH > 32,
    localparam int ADDR_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input  logic                 clk,
    input  logic [ADDR_BITS-1:0] rd_addr,
    output logic [WIDTH-1:0]     rd_data,
    input  logic                 wr_en,
    input  logic [ADDR_BITS-1:0] wr_addr,
    input  logic [WIDTH-1:0]     wr_data
);
    // The word that a write of this cycle gives to the read of the cycle before.
    logic [ADDR_BITS-1:0] rd_addr_q;
    logic again, late;
    always_ff @(posedge clk) again <= rd_addr == rd_addr_q;
    assign late = RMW != 0 && wr_en && (RMW == 2 ? again : wr_addr == rd_addr_q);

    generate
        if (!BLOCK) begin : distributed
            logic [WIDTH-1:0] memory[0:DEPTH-1];
            always_ff @(posedge clk) begin
                rd_addr_q <= rd_addr;
                rd_data   <= late ? wr_data : memory[rd_addr_q];
                if (wr_en) memory[wr_addr] <= wr_data;
            end
`ifndef SYNTHESIS
            initial for (int i = 0; i < DEPTH; i++) memory[i] = '0;
`endif
        end else begin : block
            if (WIDTH * DEPTH > 2 ** 20) begin : words
                (* no_rw_check *) logic [WIDTH-1:0] memory[0:DEPTH-1];
            end else begin : words
                (* no_rw_check, ram_style = "block" *) logic [WIDTH-1:0] memory[0:DEPTH-1];
            end
            // A block RAM does not say what a read gives of a word that is being written: it comes from registers.
            logic [WIDTH-1:0] read, written;
            logic             same;
            always_ff @(posedge clk) begin
                read      <= words.memory[rd_addr];
                rd_addr_q <= rd_addr;
                same      <= FORWARD != 0 && wr_en && wr_addr == rd_addr;
                written   <= wr_data;
                if (late) rd_data <= wr_data;
                else rd_data <= same ? written : read;
                if (wr_en) words.memory[wr_addr] <= wr_data;
            end
`ifndef SYNTHESIS
            initial for (int i = 0; i < DEPTH; i++) words.memory[i] = '0;
`endif
        end
    endgenerate
endmodule
