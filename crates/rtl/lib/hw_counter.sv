// Packets and bytes by index: one update a cycle, exact with updates of the same index in a row. Counters wrap. An index of
// `DEPTH` or more counts nothing. With no bits for one of them only the other is counted.
//
// The driver reads, and replaces the value with `ctl_write`, behind a cycle without update: `ctl_ready` says that it is one.
// `ctl_done` comes with {packets, bytes} before the write. One request at a time.
module hw_counter #(
    parameter int DEPTH = 256,
    parameter int PACKET_BITS = 32,
    parameter int BYTE_BITS = 40,
    parameter int LENGTH_BITS = 14,
    localparam int INDEX_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1,
    localparam int WIDTH = PACKET_BITS + BYTE_BITS
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   in_valid,
    input  logic [INDEX_BITS-1:0]  in_index,
    input  logic [LENGTH_BITS-1:0] in_length,
    input  logic                   ctl_valid,
    output logic                   ctl_ready,
    input  logic                   ctl_write,
    input  logic [INDEX_BITS-1:0]  ctl_index,
    input  logic [WIDTH-1:0]       ctl_wdata,
    output logic                   ctl_done,
    output logic [WIDTH-1:0]       ctl_rdata
);
    // Cycle 0 reads, cycle 2 writes.
    logic                   valid;
    logic [INDEX_BITS-1:0]  index0, index, index1, index2;
    logic [LENGTH_BITS-1:0] length0, length1, length2;
    logic [WIDTH-1:0]       value, wdata;
    logic count1, count2, asked, ctl1, ctl2, write;
    assign asked     = ctl_valid && ctl_ready;
    assign index     = valid ? index0 : ctl_index;
    assign ctl_ready = !valid && !ctl1 && !ctl2;
    always_ff @(posedge clk) begin
        {count2, count1, valid} <= rst ? 3'b0 : {count1, valid, in_valid};
        {ctl2, ctl1}     <= rst ? 2'b0 : {ctl1, asked};
        {index2, index1} <= {index1, index};
        {length2, length1, length0} <= {length1, length0, in_length};
        index0 <= in_index;
        if (asked) begin
            wdata <= ctl_wdata;
            write <= ctl_write;
        end
    end

    logic exists;
    generate
        if (DEPTH == 2 ** INDEX_BITS) assign exists = 1'b1;
        else assign exists = index2 < INDEX_BITS'(DEPTH);
    endgenerate
    logic [WIDTH-1:0] counted;
    generate
        if (BYTE_BITS == 0) begin : packets
            logic unused;
            assign counted = value + 1'b1;
            assign unused  = &{1'b0, length2};
        end else if (PACKET_BITS == 0) assign counted = value + WIDTH'(length2);
        else assign counted = {value[WIDTH-1:BYTE_BITS] + 1'b1, value[BYTE_BITS-1:0] + BYTE_BITS'(length2)};
    endgenerate
    assign ctl_done  = ctl2;
    assign ctl_rdata = value;
    hw_ram #(
        .WIDTH(WIDTH),
        .DEPTH(DEPTH),
        .RMW(2)
    ) ram (
        .clk,
        .rd_addr(index),
        .rd_data(value),
        .wr_en(!rst && exists && (count2 || (ctl2 && write))),
        .wr_addr(index2),
        .wr_data(count2 ? counted : wdata)
    );
endmodule
