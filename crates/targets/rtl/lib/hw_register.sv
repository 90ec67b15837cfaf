// Registers: `rd_index` in cycle t gives `rd_data` in cycle t + 2, which sees writes up to cycle t + 1. A program that writes in
// cycle t + 2 what it has computed from that value is exact with one packet a cycle. An index of `DEPTH` or more reads zero and
// writes nothing.
//
// The driver's request waits for a cycle without read, and, two cycles later, without write. `ctl_done` comes with the value
// before the write. One request at a time.
module hw_register #(
    parameter int WIDTH = 32,
    parameter int DEPTH = 256,
    localparam int INDEX_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic                  rd_valid,
    input  logic [INDEX_BITS-1:0] rd_index,
    output logic [WIDTH-1:0]      rd_data,
    input  logic                  wr_en,
    input  logic [INDEX_BITS-1:0] wr_index,
    input  logic [WIDTH-1:0]      wr_data,
    input  logic                  ctl_valid,
    output logic                  ctl_ready,
    input  logic                  ctl_write,
    input  logic [INDEX_BITS-1:0] ctl_index,
    input  logic [WIDTH-1:0]      ctl_wdata,
    output logic                  ctl_done,
    output logic [WIDTH-1:0]      ctl_rdata
);
    // A request, and how far it is: it waits, it reads, its value is there.
    logic waits, reads, read, write, put;
    logic [INDEX_BITS-1:0] index;
    logic [WIDTH-1:0]      wdata;
    assign ctl_ready = !waits && !reads && !read;
    assign put       = read && write && !wr_en;
    assign ctl_done  = read && (!write || !wr_en);
    assign ctl_rdata = rd_data;
    always_ff @(posedge clk) begin
        if (rst) begin
            waits <= 1'b0;
            reads <= 1'b0;
            read  <= 1'b0;
        end else begin
            // What could not be written is read again: the write in its way may have been to the same index.
            waits <= (ctl_valid && ctl_ready) || (waits && rd_valid) || (read && !ctl_done);
            reads <= waits && !rd_valid;
            read  <= reads;
        end
        if (ctl_valid && ctl_ready) begin
            index <= ctl_index;
            wdata <= ctl_wdata;
            write <= ctl_write;
        end
    end

    logic [INDEX_BITS-1:0] from, to;
    logic [WIDTH-1:0]      value;
    logic from_exists, from_exists1, from_exists2, to_exists;
    assign from = rd_valid ? rd_index : index;
    assign to   = put ? index : wr_index;
    generate
        if (DEPTH == 2 ** INDEX_BITS) begin : whole
            assign from_exists = 1'b1;
            assign to_exists   = 1'b1;
        end else begin : part
            assign from_exists = from < INDEX_BITS'(DEPTH);
            assign to_exists   = to < INDEX_BITS'(DEPTH);
        end
    endgenerate
    always_ff @(posedge clk) {from_exists2, from_exists1} <= {from_exists1, from_exists};
    assign rd_data = from_exists2 ? value : '0;
    hw_ram #(
        .WIDTH(WIDTH),
        .DEPTH(DEPTH),
        .RMW(1)
    ) ram (
        .clk,
        .rd_addr(from),
        .rd_data(value),
        .wr_en((wr_en || put) && to_exists && !rst),
        .wr_addr(to),
        .wr_data(put ? wdata : wr_data)
    );
endmodule
