// What travels beside a pipeline: a word that is there with `in_valid` in cycle t is at the output from cycle t + `DELAY` on, which is at
// least 2, and stays until that of the next packet is. Packets are at least `GAP` cycles apart. `out_soon` is high in cycle
// t + `DELAY` - 2: it is the pipeline's `in_valid`, this many stages later.
//
// There is a word for each packet between the two stages: up to 32 words are distributed RAM, more (or `BLOCK`) are block RAM. Synthesis
// must not merge the pointers of delay lines between the same stages: each line is narrow so that its pointers reach all of it in a cycle.
module hw_delay #(
    parameter int WIDTH = 8,
    parameter int DELAY = 3,
    parameter int GAP = 1,
    parameter bit BLOCK = DELAY - 1 > 32 * GAP
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             in_valid,
    input  logic [WIDTH-1:0] in_data,
    input  logic             out_soon,
    output logic [WIDTH-1:0] out_data
);
    // Distributed RAM is read in cycle t + DELAY - 1, and gives the old word if that is overwritten in the same cycle. Block RAM is read
    // a cycle earlier, and a word must not be overwritten in the same cycle.
    localparam int WORDS = BLOCK ? (DELAY - 2) / GAP + 1 : (DELAY - 1 + GAP - 1) / GAP;
    localparam int B = WORDS > 1 ? $clog2(WORDS) : 1;

    logic [B-1:0] write, read;
    logic soon, take;
    (* keep *) always_ff @(posedge clk) begin
        soon <= !rst && out_soon;
        if (rst) write <= '0;
        else if (in_valid) write <= write == B'(WORDS - 1) ? '0 : write + 1'b1;
        if (rst) read <= '0;
        else if (take) read <= read == B'(WORDS - 1) ? '0 : read + 1'b1;
    end

    generate
        if (!BLOCK) begin : distributed
            logic [WIDTH-1:0] memory[0:WORDS-1];
            assign take = soon;
            always_ff @(posedge clk) begin
                if (in_valid) memory[write] <= in_data;
                if (soon) out_data <= memory[read];
            end
        end else begin : block
            (* no_rw_check, ram_style = "block" *) logic [WIDTH-1:0] memory[0:WORDS-1];
            logic [WIDTH-1:0] word;
            assign take = out_soon;
            always_ff @(posedge clk) begin
                if (in_valid) memory[write] <= in_data;
                word <= memory[read];
                if (soon) out_data <= word;
            end
        end
    endgenerate
endmodule
