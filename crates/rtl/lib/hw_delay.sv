// Delay line in RAM: what enters in cycle t leaves in cycle t + `DELAY`, which is at least 3. For data that travel beside a
// pipeline. After a reset it still gives what entered before: `valid` bits belong in registers.
module hw_delay #(
    parameter int WIDTH = 8,
    parameter int DELAY = 3
) (
    input  logic             clk,
    input  logic             rst,
    input  logic [WIDTH-1:0] in_data,
    output logic [WIDTH-1:0] out_data
);
    localparam int DEPTH = DELAY - 1;
    localparam int B = $clog2(DEPTH);

    // Writes go round the memory; the word to be read is the oldest, one ahead.
    logic [B-1:0] write, read;
    always_ff @(posedge clk) begin
        if (rst) read <= B'(1);
        else read <= read == B'(DEPTH - 1) ? '0 : read + 1'b1;
        if (rst) write <= '0;
        else write <= read;
    end

    hw_ram #(
        .WIDTH(WIDTH),
        .DEPTH(DEPTH),
        .FORWARD(0)
    ) ram (
        .clk,
        .rd_addr(read),
        .rd_data(out_data),
        .wr_en(1'b1),
        .wr_addr(write),
        .wr_data(in_data)
    );
endmodule
