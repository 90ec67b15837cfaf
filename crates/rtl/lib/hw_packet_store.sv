// Stores packets. When a packet is complete, its first `WINDOW_BYTES` bytes (a multiple of `BUS_BYTES`) go to a rigid pipeline,
// first byte highest, with its length. The packet waits until it is read, any part of it any number of times, and freed.
// Packets are read and freed in the order in which they came. `hw_join` does that.
//
// A packet that is bad (`in_bad` with the last word) or longer than `MAX_BYTES` is dropped, and `dropped` is high for a cycle.
// While there is no room `in_ready` is low. The memory has `DEPTH` words (a power of two), more than the longest packet has.
// Windows leave at least `GAP` cycles apart, with `ALIGNED` at multiples of `GAP` cycles from the first one on. If it is more than one
// cycle, a window waits for its turn while the next one fills, and `win_soon` is high in the cycle before `win_valid`. At most `PACKETS` (a
// power of two) windows have left of packets that are not yet
// freed: a FIFO of that depth behind the pipeline holds all verdicts.
//
// `put` and `put_addr` say which word is being written, and `win_start` where a window's packet starts, for copies of the memory.
//
// With `EDITS`, each read command has its own (see `hw_edit`), which are written before or together with whatever leads to the
// command two cycles later or more. Those of at most `COMMANDS` (a power of two) commands wait.
//
// A read command reads `rd_words` words (zero is allowed) of the oldest packet from word `rd_first` on, and then, with
// `rd_free`, frees it. One word a cycle, four cycles from command to first word, with `EDITS` seven.
module hw_packet_store #(
    parameter int BUS_BYTES = 64,
    parameter int WINDOW_BYTES = 128,
    parameter int DEPTH = 512,
    parameter int MAX_BYTES = 9216,
    parameter int PACKETS = 16,
    parameter int COMMANDS = 2 * PACKETS,
    parameter int META_BITS = 8,
    parameter int GAP = 1,
    parameter int ALIGNED = 0,
    parameter int EDITS = 0,
    parameter SIZES = 8'd1,
    localparam int EDITS_1 = EDITS > 0 ? EDITS : 1,
    localparam int EDIT_BITS = EDITS > 0 ? edit_bits() : 1,
    localparam int B = $clog2(DEPTH),
    localparam int BYTES_BITS = $clog2(BUS_BYTES) + 1,
    localparam int LENGTH_BITS = $clog2(MAX_BYTES + 1),
    localparam int WORD_BITS = LENGTH_BITS > BYTES_BITS ? LENGTH_BITS - BYTES_BITS + 2 : 2
) (
    input  logic                      clk,
    input  logic                      rst,
    input  logic                      in_valid,
    output logic                      in_ready,
    input  logic [8*BUS_BYTES-1:0]    in_data,
    input  logic [BYTES_BITS-1:0]     in_bytes,
    input  logic                      in_last,
    input  logic                      in_bad,
    input  logic [META_BITS-1:0]      in_meta,
    output logic                      dropped,
    output logic                      win_soon,
    output logic                      win_valid,
    output logic [8*WINDOW_BYTES-1:0] win_window,
    output logic [LENGTH_BITS-1:0]    win_length,
    output logic [META_BITS-1:0]      win_meta,
    output logic [B-1:0]              win_start,
    output logic                      put,
    output logic [B-1:0]              put_addr,
    input  logic                      edit_valid,
    input  logic [EDITS_1-1:0]             edit_enable,
    input  logic [EDITS_1*LENGTH_BITS-1:0] edit_offset,
    input  logic [EDIT_BITS-1:0]           edit_data,
    input  logic                      rd_valid,
    output logic                      rd_ready,
    input  logic [WORD_BITS-1:0]      rd_first,
    input  logic [WORD_BITS-1:0]      rd_words,
    input  logic                      rd_free,
    output logic                      out_valid,
    input  logic                      out_ready,
    output logic [8*BUS_BYTES-1:0]    out_data
);
    localparam int MAX_WORDS = (MAX_BYTES + BUS_BYTES - 1) / BUS_BYTES;
    localparam int LAST_BYTES = MAX_BYTES - (MAX_WORDS - 1) * BUS_BYTES;  // Of the last word of the longest packet.
    localparam int WINDOW_WORDS = WINDOW_BYTES / BUS_BYTES;

    // The bits of the edits of a packet.
    function automatic integer edit_bits();
        edit_bits = 0;
        for (integer e = 0; e < EDITS; e++) edit_bits = edit_bits + 8 * 32'(SIZES[8*e+:8]);
    endfunction

    // The write side. Pointers have one bit more than addresses.
    logic [B:0]           wr_ptr, wr_next, start;
    logic [B:0]           freed, freed_next;  // Where the oldest packet starts that is needed.
    logic [B:0]           limit, limit_near;  // Where the memory is full, and one word before.
    logic [WORD_BITS-1:0] words, words_next;  // Of the current packet, without this one.
    logic full_next, too_long, bad;
    logic longest;  // This word is the last one of the longest packet.
    assign put_addr = wr_ptr[B-1:0];
    assign put = in_valid && in_ready;
    assign bad = in_bad || too_long || (LAST_BYTES != BUS_BYTES && longest && in_bytes > BYTES_BITS'(LAST_BYTES));
    assign words_next = in_last ? '0 : too_long ? words : words + 1'b1;

    always_comb begin
        wr_next = wr_ptr;
        if (put) begin
            if (in_last && bad) wr_next = start;
            else if (!too_long) wr_next = wr_ptr + 1'b1;
        end
    end

    // What is freed now is seen two cycles later, and a word that is not kept counts for a cycle.
    assign full_next = put ? wr_ptr == limit_near : wr_ptr == limit;

    // The window, which fills while its packet comes, and waits until it may move on. Until then any word may be written again: that
    // there is one is known late. Whether there is room for a word is known at the beginning of a cycle.
    logic complete, complete_next, moves, stays, stays_next, crowded_next;
    logic begins;  // A packet's first word comes next, and may be written.
    assign complete_next = (put && in_last && !bad) || (complete && !moves);
    always_ff @(posedge clk) begin
        in_ready <= !rst && !full_next && !stays_next && (GAP == 1 || !crowded_next);
        stays    <= !rst && stays_next;
        complete <= !rst && complete_next;
    end
    logic [8*WINDOW_BYTES-1:0] window;
    logic [LENGTH_BITS-1:0]    window_length;
    logic [META_BITS-1:0]      window_meta;
    logic [B-1:0]              window_start;
    logic [WORD_BITS-1:0]      window_words;  // Of the whole packet.

    // The window that leaves.
    logic may_leave, may_leave_next;
    logic leaves;  // One does; where there are gaps, it moves in the next cycle.
    logic [WORD_BITS-1:0] win_words;
    generate
        if (GAP == 1) begin : directly
            assign moves     = may_leave;
            assign win_soon  = 1'b0;
            assign leaves    = complete && may_leave;
            assign win_valid = leaves;
            assign stays_next = complete_next && !may_leave_next;
            assign {win_window, win_length, win_meta, win_start, win_words} =
                {window, window_length, window_meta, window_start, window_words};
        end else begin : waiting
            // While no window may leave for long, nothing comes: copies of the memory keep what is needed for waiting windows.
            localparam int WINDOW_BITS = 8 * WINDOW_BYTES + LENGTH_BITS + META_BITS + B + WORD_BITS;
            logic waits, waits_next;
            logic [WINDOW_BITS-1:0] next, filled;
            assign win_soon = leaves;
            assign waits_next = moves ? complete : waits;
            assign stays_next = complete_next && waits_next && !leaves;
            assign filled = {window, window_length, window_meta, window_start, window_words};
            assign {win_window, win_length, win_meta, win_start, win_words} = next;
            // `leaves` is `waits && may_leave`, and `moves` is `!waits || win_valid`.
            always_ff @(posedge clk) begin
                waits     <= !rst && waits_next;
                leaves    <= !rst && waits_next && may_leave_next;
                win_valid <= !rst && leaves;
                moves     <= rst || !waits_next || leaves;
            end
            for (genvar i = 0; i < WINDOW_BITS; i += 64) begin : lane
                localparam int BITS = WINDOW_BITS - i < 64 ? WINDOW_BITS - i : 64;
                logic lane_moves;  // `moves`, of these bits alone.
                (* keep *) always_ff @(posedge clk) lane_moves <= rst || !waits_next || leaves;
                always_ff @(posedge clk) if (lane_moves) next[i+:BITS] <= filled[i+:BITS];
            end
        end
    endgenerate

    always_ff @(posedge clk) begin
        dropped <= put && in_last && bad;
        if (rst) begin
            wr_ptr   <= '0;
            start    <= '0;
            words    <= '0;
            longest  <= MAX_WORDS == 1;
            too_long <= 1'b0;
            dropped  <= 1'b0;
        end else begin
            wr_ptr <= wr_next;
            if (put) begin
                if (in_last) start <= wr_next;
                words    <= words_next;
                longest  <= words_next == WORD_BITS'(MAX_WORDS - 1);
                too_long <= !in_last && (too_long || longest);
            end
        end
        if (begins) begin
            window_meta  <= in_meta;
            window_start <= wr_ptr[B-1:0];
        end
        if (!stays) begin
            window_length <= LENGTH_BITS'(words) * LENGTH_BITS'(BUS_BYTES) + LENGTH_BITS'(in_bytes);
            window_words  <= words + 1'b1;
        end
    end
    generate
        for (genvar w = 0; w < WINDOW_WORDS; w++) begin : fill
            // This word is the next one, and it may be written.
            logic at, at_next, reached;
            if (w == 0) assign reached = in_last;
            else assign reached = !in_last && fill[w-1].at;
            assign at_next = put ? reached : at;
            always_ff @(posedge clk) at <= rst ? w == 0 : at_next;
            if (w == 0) begin : starts
                (* keep *) always_ff @(posedge clk) begins <= rst || (at_next && !stays_next);
            end
            for (genvar i = 0; i < BUS_BYTES; i += 8) begin : lane
                localparam int BYTES = BUS_BYTES - i < 8 ? BUS_BYTES - i : 8;
                logic fills;  // Of these bytes alone.
                (* keep *) always_ff @(posedge clk) fills <= rst ? w == 0 : at_next && !stays_next;
                always_ff @(posedge clk)
                    if (fills)
                        for (int j = i; j < i + BYTES; j++)
                            window[8*(WINDOW_BYTES-1-w*BUS_BYTES-j)+:8] <= in_data[8*j+:8];
            end
        end
    endgenerate

    // How many windows may leave, and when.
    localparam int COUNT_BITS = $clog2(PACKETS) + 1;
    localparam int GAP_BITS = $clog2(GAP + 1);
    logic [COUNT_BITS-1:0] flying, flying_next;
    logic [GAP_BITS-1:0]   gap, gap_next;
    logic crowded, nearly;  // As many windows are flying as may, or one fewer.
    logic gap_low;  // The gap is over in the next cycle unless another window leaves.
    logic accept;  // A read command.
    logic landed;  // One freed a packet in the cycle before.
    assign flying_next = flying + COUNT_BITS'(leaves) - COUNT_BITS'(landed);
    assign gap_next = leaves || (ALIGNED != 0 && gap == '0) ? GAP_BITS'(GAP - 1) : gap == '0 ? '0 : gap - 1'b1;
    assign crowded_next = leaves == landed ? crowded : leaves && nearly;
    // Where there are gaps, a window leaves only if none left in the cycle before.
    assign may_leave_next = GAP == 1 ? !crowded_next : !leaves && gap_low && (landed || !crowded);
    always_ff @(posedge clk) begin
        landed <= !rst && accept && rd_free;
        if (rst) begin
            flying    <= '0;
            gap       <= '0;
            gap_low   <= ALIGNED == 0;
            may_leave <= 1'b0;
            crowded   <= 1'b0;
            nearly    <= 1'b0;
        end else begin
            flying    <= flying_next;
            gap       <= gap_next;
            gap_low   <= gap_next == GAP_BITS'(1) || (ALIGNED == 0 && gap_next == '0);
            crowded   <= crowded_next;
            nearly    <= flying_next == COUNT_BITS'(PACKETS - 1);
            may_leave <= may_leave_next;
        end
    end

    // The length of packets whose windows have left.
    logic length_valid, length_ready;
    logic [WORD_BITS-1:0] length;
    hw_fifo #(
        .WIDTH(WORD_BITS),
        .DEPTH(PACKETS),
        .ROOM(1'b1)
    ) lengths (
        .clk,
        .rst,
        .in_valid(win_valid),
        .in_ready(length_ready),
        .in_data(win_words),
        .out_valid(length_valid),
        .out_ready(accept && rd_free),
        .out_data(length)
    );

    // The read side. `oldest` is where the packet of the next command starts; what is in front of it is free as soon as the
    // current command's last word is read.
    logic [B:0]           oldest;
    logic [B-1:0]         rd_addr;
    logic [WORD_BITS-1:0] left;
    logic reading, room, issue;
    logic final_word;  // One word is left.
    assign issue    = reading && room;
    assign rd_ready = length_valid && (!reading || (issue && final_word));
    assign accept   = rd_valid && rd_ready;
    assign freed_next = !reading || (issue && final_word) ? oldest : freed;
    always_ff @(posedge clk) begin
        if (rst) begin
            oldest     <= '0;
            freed      <= '0;
            limit      <= {1'b1, B'(0)};
            limit_near <= {1'b0, {B{1'b1}}};
            reading    <= 1'b0;
        end else begin
            freed      <= freed_next;
            limit      <= {~freed[B], freed[B-1:0]};
            limit_near <= {~freed[B], freed[B-1:0]} - 1'b1;
            if (accept && rd_free) oldest <= oldest + (B + 1)'(length);
            if (accept) reading <= rd_words != '0;
            else if (issue && final_word) reading <= 1'b0;
        end
        if (accept) begin
            rd_addr <= oldest[B-1:0] + B'(rd_first);
            left    <= rd_words;
            final_word <= rd_words == WORD_BITS'(1);
        end else if (issue) begin
            rd_addr <= rd_addr + 1'b1;
            left    <= left - 1'b1;
            final_word <= left == WORD_BITS'(2);
        end
    end

    // A word is read only if there is room for it at the end.
    logic issue_q, read_valid, read_ready;
    logic [8*BUS_BYTES-1:0] read;
    logic [4:0] held, held_next;
    assign held_next = held + 5'(issue) - 5'(out_valid && out_ready);
    always_ff @(posedge clk) begin
        if (rst) begin
            issue_q    <= 1'b0;
            read_valid <= 1'b0;
            held       <= '0;
            room       <= 1'b0;
        end else begin
            issue_q    <= issue;
            read_valid <= issue_q;
            held       <= held_next;
            room       <= held_next != 5'd16;
        end
    end
    hw_ram #(
        .WIDTH(8 * BUS_BYTES),
        .DEPTH(DEPTH),
        .FORWARD(0)
    ) ram (
        .clk,
        .rd_addr,
        .rd_data(read),
        .wr_en(put),
        .wr_addr(wr_ptr[B-1:0]),
        .wr_data(in_data)
    );
    // What is read is changed on its way.
    logic word_valid;
    logic [8*BUS_BYTES-1:0] word;
    generate
        if (EDITS == 0) begin : unchanged
            assign word_valid = read_valid;
            assign word = read;
            logic unused;
            assign unused = &{1'b0, edit_valid, edit_enable, edit_offset, edit_data};
        end else begin : changed
            logic nothing;  // A command without words.
            logic [1:0] read_valids;
            logic [WORD_BITS-1:0] index;
            always_ff @(posedge clk) begin
                nothing <= !rst && accept && rd_words == '0;
                {word_valid, read_valids} <= rst ? '0 : {read_valids, read_valid};
                if (accept) index <= rd_first;
                else if (issue) index <= index + 1'b1;
            end
            hw_edit #(
                .BUS_BYTES(BUS_BYTES),
                .OFFSET_BITS(LENGTH_BITS),
                .PACKETS(COMMANDS),
                .EDITS(EDITS),
                .SIZES(SIZES)
            ) edits (
                .clk,
                .rst,
                .in_valid(edit_valid),
                .in_enable(edit_enable),
                .in_offset(edit_offset),
                .in_data(edit_data),
                .step_valid(issue),
                .step_index(index[LENGTH_BITS-$clog2(BUS_BYTES):0]),
                .step_pop(nothing || (issue && final_word)),
                .in_word(read),
                .out_word(word)
            );
        end
    endgenerate
    hw_fifo #(
        .WIDTH(8 * BUS_BYTES),
        .DEPTH(16),
        .ROOM(1'b1)
    ) words_out (
        .clk,
        .rst,
        .in_valid(word_valid),
        .in_ready(read_ready),
        .in_data(word),
        .out_valid,
        .out_ready,
        .out_data
    );

    // Both are never full.
    logic unused;
    assign unused = &{1'b0, length_ready, read_ready, may_leave};
endmodule
