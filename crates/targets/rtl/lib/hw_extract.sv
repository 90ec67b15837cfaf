// `BYTES` bytes at offset `in_offset` of a window of `WINDOW_BYTES` bytes, of which the first is in the highest bits. Latency
// log4(number of offsets), one multiplexer of four a stage; one extraction a cycle. Bytes behind the window are zeros.
module hw_extract #(
    parameter int WINDOW_BYTES = 64,
    parameter int BYTES = 16,
    localparam int OFFSETS = WINDOW_BYTES - BYTES + 1,
    localparam int OFFSET_BITS = OFFSETS > 1 ? $clog2(OFFSETS) : 1
) (
    input  logic                      clk,
    input  logic [8*WINDOW_BYTES-1:0] in_window,
    input  logic [OFFSET_BITS-1:0]    in_offset,
    output logic [8*BYTES-1:0]        out_data
);
    localparam int STAGES = ($clog2(OFFSETS) + 1) / 2;
    localparam int W = 8 * WINDOW_BYTES;
    localparam int LANE_BITS = 64;

    // Windows and offsets in front of each stage. A stage shifts by one digit of the offset to base 4, the highest first, so
    // that fewer and fewer bytes are needed. Synthesis removes the others.
    localparam int D = STAGES > 0 ? 2 * STAGES : 1;
    logic [(STAGES+1)*W-1:0] windows;
    logic [(STAGES+1)*D-1:0] offsets;
    assign windows[0+:W] = in_window;
    assign offsets[0+:D] = D'(in_offset);
    assign out_data = windows[(STAGES+1)*W-1-:8*BYTES];

    generate
        for (genvar s = 0; s < STAGES; s++) begin : stage
            localparam int DIGIT = STAGES - 1 - s;
            localparam int BY = 8 * 4 ** DIGIT;
            logic [W-1:0]      from, to;
            logic [W+3*BY-1:0] padded;
            logic [D-1:0] offset, offset_q;
            assign from   = windows[s*W+:W];
            assign offset = offsets[s*D+:D];
            assign windows[(s+1)*W+:W] = to;
            assign offsets[(s+1)*D+:D] = offset_q;
            assign padded = {from, (3 * BY)'(0)};
            always_ff @(posedge clk) offset_q <= offset;
            for (genvar i = 0; i < W; i += LANE_BITS) begin : lane
                // The digit, of these bits alone.
                localparam int BITS = W - i < LANE_BITS ? W - i : LANE_BITS;
                logic [1:0] digit;
                if (s == 0) assign digit = offset[2*DIGIT+:2];
                else (* keep *) always_ff @(posedge clk) digit <= offsets[(s-1)*D+2*DIGIT+:2];
                always_ff @(posedge clk)
                    case (digit)
                        2'd0: to[i+:BITS] <= padded[i+3*BY+:BITS];
                        2'd1: to[i+:BITS] <= padded[i+2*BY+:BITS];
                        2'd2: to[i+:BITS] <= padded[i+BY+:BITS];
                        default: to[i+:BITS] <= padded[i+:BITS];
                    endcase
            end
        end
    endgenerate

    // What is behind the bytes, and the offset when it has been used.
    logic unused;
    assign unused = &{1'b0, windows, offsets};
endmodule
