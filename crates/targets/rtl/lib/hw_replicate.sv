// Makes copies of packets between the pipelines of ingress and egress. What is to be made of a packet comes with it, and `WIDTH` bits
// of data that each copy is given. In order: a copy for each member of the clone session's list, one for the session's port, one
// for each member of the multicast group's list, one for the port of the packet itself. A packet without copies leaves once, with
// `out_none`. `out_last` is high with the last one. With `SHADOWS`, each of them is followed by another one with `out_shadow`, and only
// then is it the last one.
//
// A list is `in_clones` or `in_replicas` words of a memory of `LIST` words (a power of two), from `..._at` on: {rid, port}. The driver
// writes a new list while packets use the old one, and then what leads to it (`changed`). `busy` is high while packets are under way
// that may lead to the old one; `entering` says that one comes.
//
// Packets come without back-pressure, at most `PACKETS` (a power of two) between `entering` and their last copy. Copies leave at
// least `GAP` cycles apart, with `ALIGNED` at multiples of it, and at most `COPIES` (a power of two) between `out_valid` and `done`.
module hw_replicate #(
    parameter int WIDTH = 8,
    parameter int LIST = 64,
    parameter int PACKETS = 16,
    parameter int COPIES = 16,
    parameter int GAP = 1,
    parameter int ALIGNED = 0,
    parameter int SHADOWS = 0,
    localparam int A = $clog2(LIST)
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             entering,
    input  logic             in_valid,
    input  logic [WIDTH-1:0] in_data,
    input  logic [A-1:0]     in_clones,
    input  logic [A-1:0]     in_clones_at,
    input  logic             in_clone_valid,
    input  logic [8:0]       in_clone_port,
    input  logic [A-1:0]     in_replicas,
    input  logic [A-1:0]     in_replicas_at,
    input  logic             in_port_valid,
    input  logic [8:0]       in_port,
    output logic             out_valid,
    output logic [WIDTH-1:0] out_data,
    output logic [8:0]       out_port,
    output logic [15:0]      out_rid,
    output logic             out_cloned,
    output logic             out_replicated,
    output logic             out_none,
    output logic             out_last,
    output logic             out_shadow,
    input  logic             done,
    input  logic             changed,
    output logic             busy,
    input  logic             wr_en,
    input  logic [A-1:0]     wr_addr,
    input  logic [24:0]      wr_data
);
    // What is to be made of packets, and their data, which wait until the last copy leaves.
    logic order_valid, order_take, order_room, data_valid, data_take, data_room;
    logic [A-1:0] order_clones, order_clones_at, order_replicas, order_replicas_at;
    logic [8:0]   order_clone_port, order_port;
    logic         order_clone_valid, order_port_valid;
    logic [WIDTH-1:0] data;
    hw_fifo #(
        .WIDTH(4 * A + 20),
        .DEPTH(PACKETS)
    ) orders (
        .clk,
        .rst,
        .in_valid,
        .in_ready(order_room),
        .in_data({in_clones, in_clones_at, in_replicas, in_replicas_at, in_clone_valid, in_clone_port, in_port_valid, in_port}),
        .out_valid(order_valid),
        .out_ready(order_take),
        .out_data({
            order_clones, order_clones_at, order_replicas, order_replicas_at, order_clone_valid, order_clone_port,
            order_port_valid, order_port
        })
    );
    hw_fifo #(
        .WIDTH(WIDTH),
        .DEPTH(PACKETS)
    ) waiting (
        .clk,
        .rst,
        .in_valid,
        .in_ready(data_room),
        .in_data,
        .out_valid(data_valid),
        .out_ready(data_take),
        .out_data(data)
    );

    // The packet whose copies are being made. A step makes one.
    logic active, room, step, last;
    logic [A-1:0] clones, clones_at, replicas, replicas_at;
    logic [8:0]   clone_port, port;
    logic         clone_valid, port_valid, any_clones, last_clone, any_replicas, last_replica;
    logic from_clones, to_clone, from_replicas;
    assign step          = active && room;
    assign from_clones   = any_clones;
    assign to_clone      = !any_clones && clone_valid;
    assign from_replicas = !any_clones && !clone_valid && any_replicas;
    assign last = (any_clones ? last_clone && !clone_valid && !any_replicas : clone_valid ? !any_replicas : !any_replicas || last_replica)
        && (!port_valid || !(any_clones || clone_valid || any_replicas));
    assign order_take = order_valid && (!active || (step && last));
    always_ff @(posedge clk) begin
        if (rst) active <= 1'b0;
        else if (order_take) active <= 1'b1;
        else if (step && last) active <= 1'b0;
        if (order_take) begin
            clones       <= order_clones;
            clones_at    <= order_clones_at;
            any_clones   <= order_clones != '0;
            last_clone   <= order_clones == A'(1);
            clone_valid  <= order_clone_valid;
            clone_port   <= order_clone_port;
            replicas     <= order_replicas;
            replicas_at  <= order_replicas_at;
            any_replicas <= order_replicas != '0;
            last_replica <= order_replicas == A'(1);
            port_valid   <= order_port_valid;
            port         <= order_port;
        end else if (step) begin
            if (from_clones) begin
                clones     <= clones - 1'b1;
                clones_at  <= clones_at + 1'b1;
                any_clones <= !last_clone;
                last_clone <= clones == A'(2);
            end
            if (to_clone) clone_valid <= 1'b0;
            if (from_replicas) begin
                replicas     <= replicas - 1'b1;
                replicas_at  <= replicas_at + 1'b1;
                any_replicas <= !last_replica;
                last_replica <= replicas == A'(2);
            end
        end
    end

    // Two cycles for the list. A step begins only if there is room for its copy at the end.
    logic        listed, cloned, none, listed2, cloned2, none2, last2;
    logic [8:0]  port2;
    logic [12:0] copy1;
    logic        valid1, valid2, go, taken, second;
    logic [24:0] member;
    logic [4:0]  held, held_next;
    assign listed    = from_clones || from_replicas;
    assign cloned    = from_clones || to_clone;
    assign none      = !from_clones && !to_clone && !from_replicas && !port_valid;
    assign held_next   = held + 5'(step) - 5'(taken);
    always_ff @(posedge clk) begin
        {listed2, cloned2, none2, last2, port2} <= copy1;
        copy1 <= {listed, cloned, none, last, to_clone ? clone_port : port};
        {valid2, valid1} <= rst ? '0 : {valid1, step};
        held <= rst ? '0 : held_next;
        room <= !rst && held_next != 5'd16;
    end
    hw_ram #(
        .WIDTH(25),
        .DEPTH(LIST),
        .FORWARD(0)
    ) lists (
        .clk,
        .rd_addr(from_clones ? clones_at : replicas_at),
        .rd_data(member),
        .wr_en,
        .wr_addr,
        .wr_data
    );

    logic ready_valid, ready_room, ready_cloned, ready_listed, ready_none, ready_last;
    logic [15:0] ready_rid;
    logic [8:0]  ready_port;
    hw_fifo #(
        .WIDTH(29),
        .DEPTH(16)
    ) ready (
        .clk,
        .rst,
        .in_valid(valid2),
        .in_ready(ready_room),
        .in_data({
            listed2 ? member[24:9] : 16'd0, listed2 ? member[8:0] : port2, cloned2, listed2, none2, last2
        }),
        .out_valid(ready_valid),
        .out_ready(taken),
        .out_data({ready_rid, ready_port, ready_cloned, ready_listed, ready_none, ready_last})
    );

    // How many copies may leave, and when.
    localparam int FLYING_BITS = $clog2(COPIES) + 1;
    localparam int GAP_BITS = $clog2(GAP + 1);
    logic [FLYING_BITS-1:0] flying, flying_next;
    logic [GAP_BITS-1:0]    gap, gap_next;
    logic may_leave;
    assign go          = ready_valid && data_valid && may_leave;
    assign taken       = go && (SHADOWS == 0 || second);
    assign data_take   = taken && ready_last;
    assign flying_next = flying + FLYING_BITS'(go) - FLYING_BITS'(done);
    assign gap_next    = go || (ALIGNED != 0 && gap == '0) ? GAP_BITS'(GAP - 1) : gap == '0 ? '0 : gap - 1'b1;
    always_ff @(posedge clk) begin
        flying    <= rst ? '0 : flying_next;
        gap       <= rst ? '0 : gap_next;
        may_leave <= !rst && flying_next != FLYING_BITS'(COPIES) && gap_next == '0;
        out_valid <= !rst && go;
        out_data  <= data;
        second    <= !rst && SHADOWS != 0 && second != go;
        {out_shadow, out_rid, out_port, out_cloned, out_replicated, out_none, out_last} <=
            {second, ready_rid, ready_port, ready_cloned, ready_listed, ready_none, ready_last && (SHADOWS == 0 || second)};
    end

    // Packets under way, and those of them that came before the last change.
    localparam int COUNT_BITS = $clog2(PACKETS) + 1;
    logic [COUNT_BITS-1:0] held_packets, held_packets_next, old;
    assign held_packets_next = held_packets + COUNT_BITS'(entering) - COUNT_BITS'(data_take);
    assign busy        = old != '0;
    always_ff @(posedge clk) begin
        held_packets <= rst ? '0 : held_packets_next;
        if (rst) old <= '0;
        else if (changed) old <= held_packets_next;
        else if (data_take && old != '0) old <= old - 1'b1;
    end

    // There is always room.
    logic unused;
    assign unused = &{1'b0, order_room, data_room, ready_room};
endmodule
