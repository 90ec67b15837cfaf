// `@NAME@` on a bare ECP5, for place and route: three input pins and one output pin. A shift register drives every input, and all
// outputs fold into one bit, registers on both sides, so that nothing is optimised away and paths to pins do not count. What
// shifts in is a packet stream and accesses to the register map, in the order of the ports of `@NAME@`.
module @NAME@_ecp5 (
    input  logic clk,
    input  logic rst,
    input  logic si,
    output logic so
);
    localparam int BUS_BYTES = @BUS@;
    localparam int BYTES_BITS = $clog2(BUS_BYTES) + 1;
    localparam int IN_BITS = 8 * BUS_BYTES + BYTES_BITS + 127;
    localparam int OUT_BITS = 8 * BUS_BYTES + BYTES_BITS + 50;
    localparam int FOLDED = (OUT_BITS + 7) / 8;
    localparam int FOLDED_AGAIN = (FOLDED + 7) / 8;

    logic rst_q;
    logic [IN_BITS-1:0] in;
    logic [OUT_BITS-1:0] out, out_q;
    always_ff @(posedge clk) begin
        rst_q <= rst;
        in    <= {in[IN_BITS-2:0], si};
        out_q <= out;
    end

    @NAME@ core (
        .clk,
        .rst(rst_q),
        .in_valid(in[0]),
        .in_last(in[1]),
        .in_bad(in[2]),
        .out_ready(in[3]),
        .bus_wr_en(in[4]),
        .bus_rd_en(in[5]),
        .in_port(in[14:6]),
        .in_now(in[62:15]),
        .bus_wr_addr(in[78:63]),
        .bus_rd_addr(in[94:79]),
        .bus_wr_data(in[126:95]),
        .in_bytes(in[127+:BYTES_BITS]),
        .in_data(in[IN_BITS-1-:8*BUS_BYTES]),
        .in_ready(out[0]),
        .in_dropped(out[1]),
        .verdict(out[2]),
        .verdict_sends(out[3]),
        .out_valid(out[4]),
        .out_last(out[5]),
        .out_port(out[14:6]),
        .bus_wr_ready(out[15]),
        .bus_rd_valid(out[16]),
        .bus_rd_data(out[48:17]),
        .verdict_last(out[49]),
        .out_bytes(out[50+:BYTES_BITS]),
        .out_data(out[OUT_BITS-1-:8*BUS_BYTES])
    );

    // Parities of eight, twice, then of all.
    logic [8*FOLDED-1:0]       first;
    logic [FOLDED-1:0]         parity;
    logic [8*FOLDED_AGAIN-1:0] second;
    logic [FOLDED_AGAIN-1:0]   parities;
    assign first  = (8 * FOLDED)'(out_q);
    assign second = (8 * FOLDED_AGAIN)'(parity);
    always_ff @(posedge clk) begin
        for (int i = 0; i < FOLDED; i++) parity[i] <= ^first[8*i+:8];
        for (int i = 0; i < FOLDED_AGAIN; i++) parities[i] <= ^second[8*i+:8];
        so <= ^parities;
    end
endmodule
