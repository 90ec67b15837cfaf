// Packets and bytes by index, exact. Counters wrap. An index of `DEPTH` or more counts nothing. With no bits for one of them only the
// other is counted.
//
// `GAP` is the number of cycles between updates at least. From `IN_TURN` cycles on the counter does one thing after the other: an
// update, or what the driver asks for, takes five cycles. With fewer there may be an update each cycle, also of one index.
//
// The driver reads, and replaces the value with `ctl_write`, when `ctl_ready` says so. `ctl_done` comes with {packets, bytes} before
// the write. One request at a time.
module hw_counter #(
    parameter int DEPTH = 256,
    parameter int PACKET_BITS = 32,
    parameter int BYTE_BITS = 40,
    parameter int LENGTH_BITS = 14,
    parameter int GAP = 1,
    localparam int IN_TURN = 6,
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
    logic                   writes;  // This cycle, `result` to `address`.
    logic [INDEX_BITS-1:0]  index, address;
    logic [LENGTH_BITS-1:0] length;
    logic [WIDTH-1:0]       value, counted, result;
    logic                   exists;
    assign ctl_rdata = value;
    generate
        if (DEPTH == 2 ** INDEX_BITS) assign exists = 1'b1;
        else assign exists = address < INDEX_BITS'(DEPTH);
        if (BYTE_BITS == 0) begin : packets
            logic unused;
            assign counted = value + 1'b1;
            assign unused  = &{1'b0, length};
        end else if (PACKET_BITS == 0) assign counted = value + WIDTH'(length);
        else assign counted = {value[WIDTH-1:BYTE_BITS] + 1'b1, value[BYTE_BITS-1:0] + BYTE_BITS'(length)};

        if (GAP >= IN_TURN) begin : in_turn
            // An update that waits; what is being done, and its steps: two to read, one to add, one to write.
            logic                   waits, counts, free;
            logic [INDEX_BITS-1:0]  waiting_index;
            logic [LENGTH_BITS-1:0] waiting_length;
            logic [3:0]             step;
            logic                   last = 1'b0;  // The step that writes, if there is something to write. There is nothing before the reset.
            assign free      = step == '0;
            assign ctl_ready = free && !waits;
            assign ctl_done  = step[3] && !counts;
            assign writes    = last;
            assign address   = index;
            always_ff @(posedge clk) begin
                waits <= !rst && (in_valid || (waits && !free));
                step  <= rst ? '0 : {step[2:0], free && (waits || ctl_valid)};
                if (!waits) {waiting_index, waiting_length} <= {in_index, in_length};
                if (free) begin
                    counts <= waits;
                    index  <= waits ? waiting_index : ctl_index;
                    length <= waiting_length;
                end
                result <= counts ? counted : ctl_wdata;
                last   <= !rst && step[2] && exists && (counts || ctl_write);
            end
        end else begin : each_cycle
            // Cycle 0 reads, cycle 2 writes.
            logic                   valid;
            logic [INDEX_BITS-1:0]  index0, index1;
            logic [LENGTH_BITS-1:0] length0, length1;
            logic count1, count2, asked, ctl1, ctl2;
            assign asked     = ctl_valid && ctl_ready;
            assign index     = valid ? index0 : ctl_index;
            assign ctl_ready = !valid && !ctl1 && !ctl2;
            assign ctl_done  = ctl2;
            assign writes    = !rst && exists && (count2 || (ctl2 && ctl_write));
            assign result    = count2 ? counted : ctl_wdata;
            always_ff @(posedge clk) begin
                {count2, count1, valid} <= rst ? 3'b0 : {count1, valid, in_valid};
                {ctl2, ctl1} <= rst ? 2'b0 : {ctl1, asked};
                {address, index1, index0} <= {index1, index, in_index};
                {length, length1, length0} <= {length1, length0, in_length};
            end
        end
    endgenerate
    hw_ram #(
        .WIDTH(WIDTH),
        .DEPTH(DEPTH),
        .RMW(GAP >= IN_TURN ? 0 : 2),
        .FORWARD(GAP >= IN_TURN ? 0 : 1)
    ) ram (
        .clk,
        .rd_addr(index),
        .rd_data(value),
        .wr_en(writes),
        .wr_addr(address),
        .wr_data(result)
    );
endmodule
