// What a stream gives is what it took: word n out is word n in, for every n, so nothing is lost, comes twice, or overtakes. `n` is any
// constant; counts wrap at 16, more than any stream here holds.
module stream #(
    parameter int WIDTH = 2,
    parameter int CAPACITY = 2,  // While fewer words are inside, another one is taken.
    parameter int LATENCY = 1    // A word inside is at the output after this many cycles at the latest, if none is before it.
) (
    input logic             clk,
    input logic             rst,
    input logic             in_valid,
    input logic             in_ready,
    input logic [WIDTH-1:0] in_data,
    input logic             out_valid,
    input logic             out_ready,
    input logic [WIDTH-1:0] out_data
);
    (* anyconst *) logic [3:0] n;
    logic [3:0] taken, given, inside;
    logic [WIDTH-1:0] word, shown;
    logic [2:0] idle;
    logic waiting;
    assign inside = taken - given;
    always_ff @(posedge clk) begin
        if (rst) begin
            taken   <= '0;
            given   <= '0;
            idle    <= '0;
            waiting <= 1'b0;
        end else begin
            if (in_valid && in_ready) begin
                taken <= taken + 1'b1;
                if (taken == n) word <= in_data;
            end
            if (out_valid && out_ready) given <= given + 1'b1;
            idle    <= inside != 0 && !out_valid ? idle + 1'b1 : '0;
            waiting <= out_valid && !out_ready;
        end
        shown <= out_data;
    end
    always_comb
        if (!rst) begin
            if (out_valid) assert (inside != 0);
            if (out_valid && given == n) assert (out_data == word);
            if (waiting) assert (out_valid && out_data == shown);
            if (inside < CAPACITY) assert (in_ready);
            assert (idle < LATENCY);
        end
endmodule
