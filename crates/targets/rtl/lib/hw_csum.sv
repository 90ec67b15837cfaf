// Internet checksum (RFC 1071) of `WORDS` 16-bit words: the complement of their ones'-complement sum. Latency
// log2(`WORDS`) + 2, one a cycle.
module hw_csum #(
    parameter int WORDS = 10
) (
    input  logic                clk,
    input  logic [16*WORDS-1:0] in_data,
    output logic [15:0]         out_csum
);
    localparam int STAGES = $clog2(WORDS);
    localparam int N = 2 ** STAGES;
    localparam int S = 17 + STAGES;

    // Sums of two, again and again.
    logic [(STAGES+1)*N*S-1:0] sums;
    generate
        for (genvar i = 0; i < N; i++) begin : word
            if (i < WORDS) assign sums[i*S+:S] = S'(in_data[16*i+:16]);
            else assign sums[i*S+:S] = '0;
        end
        for (genvar s = 0; s < STAGES; s++) begin : stage
            logic [N*S-1:0]   from;
            logic [N/2*S-1:0] to;
            assign from = sums[s*N*S+:N*S];
            assign sums[(s+1)*N*S+:N*S] = (N * S)'(to);
            always_ff @(posedge clk)
                for (int i = 0; i < N / 2; i++) to[i*S+:S] <= from[2*i*S+:S] + from[(2*i+1)*S+:S];
        end
    endgenerate

    // The carries come back in.
    logic [S-1:0] sum;
    logic [16:0]  folded;
    assign sum = sums[STAGES*N*S+:S];
    always_ff @(posedge clk) begin
        folded   <= 17'(sum[15:0]) + 17'(sum[S-1:16]);
        out_csum <= ~(folded[15:0] + 16'(folded[16]));
    end

    // What is left at the narrow end.
    logic unused;
    assign unused = &{1'b0, sums};
endmodule
