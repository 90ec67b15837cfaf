// Replaces bytes of packets while their words are read from the packet store. An edit is up to 16 bytes at any offset of the packet
// as received; each packet has `EDITS` of them, of which those with their bit in `in_enable` happen. Edits of a packet do not
// overlap. Edit e has `SIZES[8*e+:8]` bytes, the first in the highest bits; edit 0 is in the lowest bits of all ports.
//
// Edits of at most `PACKETS` packets wait, those of a packet until two cycles behind its last step. `step_valid` says in cycle t that
// a word is read, `step_index` which one of its packet, and `step_pop` that it is the packet's last one, or that none is read of it.
// The word itself is `in_word` in cycle t + 2, its first byte in the lowest bits; it leaves in cycle t + 5. One word a cycle. Edits
// must be written three cycles before their packet's first step.
module hw_edit #(
    parameter int BUS_BYTES = 64,
    parameter int OFFSET_BITS = 14,
    parameter int PACKETS = 64,
    parameter int EDITS = 2,
    parameter SIZES = 16'h0208,
    localparam int DATA_BITS = start_of(EDITS),
    localparam int L = $clog2(BUS_BYTES),
    localparam int INDEX_BITS = OFFSET_BITS - L + 1,
    localparam int BITS = EDITS + EDITS * OFFSET_BITS + DATA_BITS
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic                         in_valid,
    input  logic [EDITS-1:0]             in_enable,
    input  logic [EDITS*OFFSET_BITS-1:0] in_offset,
    input  logic [DATA_BITS-1:0]         in_data,
    input  logic                         step_valid,
    input  logic [INDEX_BITS-1:0]        step_index,
    input  logic                         step_pop,
    input  logic [8*BUS_BYTES-1:0]       in_word,
    output logic [8*BUS_BYTES-1:0]       out_word
);
    // The bits of the edits in front of an edit.
    function automatic integer start_of(input integer edit);
        start_of = 0;
        for (integer e = 0; e < edit; e++) start_of = start_of + 8 * 32'(SIZES[8*e+:8]);
    endfunction

    // Edits have a register first, steps and words have two: edits may wait far from the pipeline and from the packet store.
    logic                   comes, valid, pop, valid_1, pop_1;
    logic [BITS-1:0]        coming;
    logic [INDEX_BITS-1:0]  index, index_before, index_1;
    logic [8*BUS_BYTES-1:0] read, read_1;
    always_ff @(posedge clk) begin
        {valid_1, index_1, read_1} <= {step_valid, step_index, in_word};
        {valid, index, read}       <= {valid_1, index_1, read_1};
        index_before               <= index_1 - 1'b1;
        pop_1  <= !rst && step_pop;
        pop    <= !rst && pop_1;
        comes  <= !rst && in_valid;
        coming <= {in_enable, in_offset, in_data};
    end

    logic room, there;
    logic [EDITS-1:0]             enable;
    logic [EDITS*OFFSET_BITS-1:0] offset;
    logic [DATA_BITS-1:0]         data;
    hw_fifo #(
        .WIDTH(BITS),
        .DEPTH(PACKETS),
        .ROOM(1'b1)
    ) edits (
        .clk,
        .rst,
        .in_valid(comes),
        .in_ready(room),
        .in_data(coming),
        .out_valid(there),
        .out_ready(pop),
        .out_data({enable, offset, data})
    );

    // For each edit, which bytes of the word are its own, and its bytes at their places.
    logic [EDITS*BUS_BYTES-1:0] masks;
    logic [EDITS*8*BUS_BYTES-1:0] bytes;
    generate
        for (genvar e = 0; e < EDITS; e++) begin : edit
            localparam int SIZE = 32'(SIZES[8*e+:8]);
            localparam int FIRST = start_of(e);
            localparam int D = SIZE <= 2 ? 2 : SIZE <= 4 ? 4 : SIZE <= 8 ? 8 : 16;
            localparam int TURN = $clog2(D);
            logic [OFFSET_BITS-1:0] at;
            logic [INDEX_BITS-1:0]  word;
            assign at   = offset[e*OFFSET_BITS+:OFFSET_BITS];
            assign word = INDEX_BITS'(at >> L);

            // Cycle t + 3: whether it is in this word, and its bytes, turned by the offset's lowest two bits.
            logic                 begins, continues;
            logic [L-1:0]         low;
            logic [8*D-1:0]       lanes, turned1, turned2;
            for (genvar i = 0; i < D; i++) begin : lane
                if (i < SIZE) assign lanes[8*i+:8] = data[FIRST+8*(SIZE-1-i)+:8];
                else assign lanes[8*i+:8] = 8'd0;
            end
            always_ff @(posedge clk) begin
                begins    <= valid && enable[e] && word == index;
                continues <= valid && enable[e] && word == index_before;
                low       <= at[L-1:0];
            end
            if (TURN == 1) begin : two
                always_ff @(posedge clk) begin
                    turned1 <= at[0] ? {lanes[7:0], lanes[15:8]} : lanes;
                    turned2 <= turned1;
                end
            end else begin : more
                always_ff @(posedge clk) begin
                    case (at[1:0])
                        2'd0: turned1 <= lanes;
                        2'd1: turned1 <= {lanes[8*D-9:0], lanes[8*D-1-:8]};
                        2'd2: turned1 <= {lanes[8*D-17:0], lanes[8*D-1-:16]};
                        default: turned1 <= {lanes[8*D-25:0], lanes[8*D-1-:24]};
                    endcase
                end
                // Cycle t + 4: turned by the other bits.
                if (TURN == 2) begin : four
                    always_ff @(posedge clk) turned2 <= turned1;
                end else if (TURN == 3) begin : eight
                    always_ff @(posedge clk) turned2 <= low[2] ? {turned1[31:0], turned1[63:32]} : turned1;
                end else begin : sixteen
                    always_ff @(posedge clk) begin
                        case (low[3:2])
                            2'd0: turned2 <= turned1;
                            2'd1: turned2 <= {turned1[95:0], turned1[127:96]};
                            2'd2: turned2 <= {turned1[63:0], turned1[127:64]};
                            default: turned2 <= {turned1[31:0], turned1[127:32]};
                        endcase
                    end
                end
            end
            logic [2*BUS_BYTES-1:0] span;  // Of this word and the next.
            assign span = (2 * BUS_BYTES)'({SIZE{1'b1}}) << low;
            always_ff @(posedge clk)
                masks[e*BUS_BYTES+:BUS_BYTES] <= (begins ? span[BUS_BYTES-1:0] : '0)
                    | (continues ? span[2*BUS_BYTES-1:BUS_BYTES] : '0);
            for (genvar i = 0; i < BUS_BYTES; i++) begin : lanes_of_bus
                assign bytes[8*(e*BUS_BYTES+i)+:8] = turned2[8*(i%D)+:8];
            end
        end
        for (genvar i = 0; i < BUS_BYTES; i++) begin : merge
            always_ff @(posedge clk) begin
                out_word[8*i+:8] <= read[8*i+:8];
                for (int e = 0; e < EDITS; e++) if (masks[e*BUS_BYTES+i]) out_word[8*i+:8] <= bytes[8*(e*BUS_BYTES+i)+:8];
            end
        end
    endgenerate

    // There is always room, and edits come in time.
    logic unused;
    assign unused = &{1'b0, room, there};
endmodule
