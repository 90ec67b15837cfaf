// Merges `PORTS` packet streams, a packet at a time, in turn (round robin). One word a cycle, latency 1; a port that comes
// alone after a pause waits one cycle more. `WIDTH` is all of a word but `last`: data, `bytes`, whatever travels beside.
// `out_port` says where the packet came from.
module hw_arbiter #(
    parameter int WIDTH = 8,
    parameter int PORTS = 4,
    localparam int PORT_BITS = PORTS > 1 ? $clog2(PORTS) : 1
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic [PORTS-1:0]       in_valid,
    output logic [PORTS-1:0]       in_ready,
    input  logic [PORTS*WIDTH-1:0] in_data,
    input  logic [PORTS-1:0]       in_last,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [WIDTH-1:0]       out_data,
    output logic                   out_last,
    output logic [PORT_BITS-1:0]   out_port
);
    logic [PORTS-1:0] chosen;  // One bit.
    logic             amid;  // The first word of the chosen port's packet has gone, the last one has not.

    logic                 word_valid, word_ready, word_last;
    logic [WIDTH-1:0]     word;
    logic [PORT_BITS-1:0] port;
    assign word_valid = |(in_valid & chosen);
    assign word_last  = |(in_last & chosen);
    assign in_ready   = word_ready ? chosen : '0;
    always_comb begin
        word = '0;
        port = '0;
        for (int i = 0; i < PORTS; i++)
            if (chosen[i]) begin
                word |= in_data[i*WIDTH+:WIDTH];
                port |= PORT_BITS'(i);
            end
    end

    // The waiting port that follows the chosen one most closely, the chosen one excluded: whether that has another packet
    // cannot be known in the cycle of its last word.
    logic [PORTS-1:0] others, above, next;
    assign others = in_valid & ~chosen;
    assign above  = others & ~(chosen | (chosen - 1'b1));
    assign next   = |above ? above & (~above + 1'b1) : others & (~others + 1'b1);

    logic moves;
    assign moves = word_valid && word_ready;
    always_ff @(posedge clk) begin
        if (rst) begin
            chosen <= PORTS'(1);
            amid <= 1'b0;
        end else begin
            if (moves) amid <= !word_last;
            if ((moves ? word_last : !amid && !word_valid) && |others) chosen <= next;
        end
    end

    hw_skid #(
        .WIDTH(WIDTH + 1 + PORT_BITS)
    ) slice (
        .clk,
        .rst,
        .in_valid(word_valid),
        .in_ready(word_ready),
        .in_data({port, word_last, word}),
        .out_valid,
        .out_ready,
        .out_data({out_port, out_last, out_data})
    );
endmodule
