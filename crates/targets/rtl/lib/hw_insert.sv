// Replaces `BYTES` bytes at offset `in_offset` of a window of `WINDOW_BYTES` bytes, of which the first is in the highest bits,
// if `in_en` is high. Latency log4(number of offsets) + 1, one multiplexer of four a stage; one replacement a cycle. What would
// be behind the window is dropped.
module hw_insert #(
    parameter int WINDOW_BYTES = 64,
    parameter int BYTES = 16,
    localparam int OFFSETS = WINDOW_BYTES - BYTES + 1,
    localparam int OFFSET_BITS = OFFSETS > 1 ? $clog2(OFFSETS) : 1
) (
    input  logic                      clk,
    input  logic                      in_en,
    input  logic [8*WINDOW_BYTES-1:0] in_window,
    input  logic [OFFSET_BITS-1:0]    in_offset,
    input  logic [8*BYTES-1:0]        in_data,
    output logic [8*WINDOW_BYTES-1:0] out_window
);
    localparam int STAGES = ($clog2(OFFSETS) + 1) / 2;
    localparam int W = 8 * WINDOW_BYTES;
    localparam int D = STAGES > 0 ? 2 * STAGES : 1;

    // In front of each stage: the window, the new bytes on their way to their place, which bytes of the window they are, and
    // the offset. A stage shifts by one digit of the offset to base 4, the lowest first.
    logic [(STAGES+1)*W-1:0]            windows;
    logic [(STAGES+1)*W-1:0]            patches;
    logic [(STAGES+1)*WINDOW_BYTES-1:0] masks;
    logic [(STAGES+1)*D-1:0]            offsets;
    assign windows[0+:W] = in_window;
    assign patches[0+:W] = {in_data, {W - 8 * BYTES{1'b0}}};
    assign masks[0+:WINDOW_BYTES] = {{BYTES{in_en}}, {WINDOW_BYTES - BYTES{1'b0}}};
    assign offsets[0+:D] = D'(in_offset);

    generate
        for (genvar s = 0; s < STAGES; s++) begin : stage
            localparam int UNIT = 4 ** s;
            logic [W-1:0]            window, patch, to;
            logic [WINDOW_BYTES-1:0] mask;
            logic [D-1:0]            offset, offset_q;
            logic [1:0]              digit;
            assign patch  = patches[s*W+:W];
            assign offset = offsets[s*D+:D];
            assign digit  = offset[2*s+:2];
            assign windows[(s+1)*W+:W]                       = window;
            assign patches[(s+1)*W+:W]                       = to;
            assign masks[(s+1)*WINDOW_BYTES+:WINDOW_BYTES] = mask;
            assign offsets[(s+1)*D+:D]                       = offset_q;
            always_ff @(posedge clk) begin
                case (digit)
                    2'd0: to <= patch;
                    2'd1: to <= patch >> 8 * UNIT;
                    2'd2: to <= patch >> 16 * UNIT;
                    default: to <= patch >> 24 * UNIT;
                endcase
                mask     <= masks[s*WINDOW_BYTES+:WINDOW_BYTES] >> digit * UNIT;
                window   <= windows[s*W+:W];
                offset_q <= offset;
            end
        end
        for (genvar i = 0; i < WINDOW_BYTES; i++) begin : merge
            always_ff @(posedge clk)
                out_window[8*i+:8] <= masks[STAGES*WINDOW_BYTES+i] ? patches[STAGES*W+8*i+:8] : windows[STAGES*W+8*i+:8];
        end
    endgenerate

    // The offset when it has been used.
    logic unused;
    assign unused = &{1'b0, offsets};
endmodule
