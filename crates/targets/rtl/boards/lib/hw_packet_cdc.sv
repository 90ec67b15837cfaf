// Packets from one clock to another, in block RAM of `DEPTH` words (a power of two, 512 a block). A packet can be read when it is complete;
// one that is bad, or that there is no room for, is dropped, and `dropped` is high for a cycle. The side that writes never waits.
//
// Pointers pass to the other clock in Gray code. The end of what can be read follows the end of the last packet one word a cycle, so that
// it does not jump.
module hw_packet_cdc #(
    parameter int DEPTH = 1024
) (
    input  logic        wr_clk,
    input  logic        in_valid,
    input  logic [31:0] in_data,
    input  logic [1:0]  in_rest,
    input  logic        in_last,
    input  logic        in_bad,  // With the last word.
    output logic        dropped,
    input  logic        rd_clk,
    output logic        out_valid,
    input  logic        out_ready,
    output logic [31:0] out_data,
    output logic [1:0]  out_rest,
    output logic        out_last
);
    localparam int A = $clog2(DEPTH);
    (* no_rw_check, ram_style = "block" *) logic [35:0] memory[0:DEPTH-1];

    // Pointers have a bit more than addresses.
    logic [A:0] head = '0, good = '0, shown = '0, shown_gray = '0;
    logic [A:0] tail = '0, tail_gray = '0;
    (* async_reg = "true" *) logic [A:0] tail_seen[0:1], shown_seen[0:1];
    initial begin
        tail_seen[0]  = '0;
        tail_seen[1]  = '0;
        shown_seen[0] = '0;
        shown_seen[1] = '0;
        dropped       = 1'b0;
        out_valid     = 1'b0;
    end

    // The writing side. That there is no room is known a cycle later: two words stay free.
    logic [A:0] tail_binary, tail_known = '0, used;
    always_comb for (int i = 0; i <= A; i++) tail_binary[i] = ^(tail_seen[1] >> i);
    logic full = 1'b0, overrun = 1'b0;
    assign used = head - tail_known;
    always_ff @(posedge wr_clk) begin
        tail_seen[0] <= tail_gray;
        tail_seen[1] <= tail_seen[0];
        tail_known   <= tail_binary;
        full         <= used[A] || &used[A-1:1];
        dropped      <= 1'b0;
        if (in_valid) begin
            if (!full && !overrun) memory[head[A-1:0]] <= {1'b0, in_last, in_rest, in_data};
            overrun <= (overrun || full) && !in_last;
            if (in_last) begin
                if (in_bad || overrun || full) begin
                    head    <= good;
                    dropped <= 1'b1;
                end else begin
                    head <= head + 1'b1;
                    good <= head + 1'b1;
                end
            end else if (!full && !overrun) head <= head + 1'b1;
        end
        if (shown != good) shown <= shown + 1'b1;
        shown_gray <= shown ^ (shown >> 1);
    end

    // The reading side. A block RAM's answer takes long: it has a register behind it.
    logic [A:0] tail_next;
    logic [35:0] word;
    logic word_valid = 1'b0, takes, takes_word, some, unused;
    assign tail_next  = tail + 1'b1;
    assign takes      = !out_valid || out_ready;
    assign takes_word = !word_valid || takes;
    assign some       = (tail ^ (tail >> 1)) != shown_seen[1];
    always_ff @(posedge rd_clk) begin
        shown_seen[0] <= shown_gray;
        shown_seen[1] <= shown_seen[0];
        tail_gray     <= tail ^ (tail >> 1);
        if (takes_word) begin
            word       <= memory[tail[A-1:0]];
            word_valid <= some;
            if (some) tail <= tail_next;
        end
        if (takes) begin
            {unused, out_last, out_rest, out_data} <= word;
            out_valid <= word_valid;
        end
    end
endmodule
