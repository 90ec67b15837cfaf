// Counts the pulses of one clock in another one. Pulses are at least four cycles of `clk` apart, or some are counted as one.
module hw_pulse_count (
    input  logic        from_clk,
    input  logic        pulse,
    input  logic        clk,
    output logic [31:0] count
);
    logic turn = 1'b0;
    always_ff @(posedge from_clk) if (pulse) turn <= !turn;
    (* async_reg = "true" *) logic [2:0] seen = '0;
    initial count = '0;
    always_ff @(posedge clk) begin
        seen <= {seen[1:0], turn};
        if (seen[2] != seen[1]) count <= count + 1'b1;
    end
endmodule
