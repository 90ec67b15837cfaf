// Sends packets: a new header, and behind it a part of what `hw_packet_store` holds. `in_header_bytes` bytes of the header, the
// first in the highest bits; then `in_length` bytes of the stored packet from byte `in_skip` on. With both zero nothing is
// sent. Then the stored packet is freed, if `in_free` says so; copies are several commands, the last of which frees.
// `in_meta` is at `out_meta` with each word.
//
// A header comes by itself, `header_valid` with `header` and `header_bytes`, a cycle before its command or earlier; none comes for commands that
// send nothing. At most `HEADERS` (a power of two) are there whose packets have not begun. They come at least `GAP` cycles apart, and
// `header_soon` says a cycle before that there may be one. Where the gap is enough for a long header's words of the bus, headers wait by words,
// in a narrower memory, if that has no more than 512 words.
//
// One word a cycle; a packet takes a cycle more if the first stored byte moves to a lower place within the first word that is sent.
module hw_join #(
    parameter int BUS_BYTES = 64,
    parameter int HEADER_BYTES = 128,
    parameter int HEADERS = 64,
    parameter int GAP = 1,
    parameter int MAX_BYTES = 9216,  // Of a stored packet.
    parameter int META_BITS = 8,
    localparam int BYTES_BITS = $clog2(BUS_BYTES) + 1,
    localparam int HEADER_BITS = $clog2(HEADER_BYTES + 1),
    localparam int LENGTH_BITS = $clog2(MAX_BYTES + 1),
    localparam int WORD_BITS = LENGTH_BITS > BYTES_BITS ? LENGTH_BITS - BYTES_BITS + 2 : 2
) (
    input  logic                      clk,
    input  logic                      rst,
    input  logic                      header_soon,
    input  logic                      header_valid,
    input  logic [8*HEADER_BYTES-1:0] header,
    input  logic [HEADER_BITS-1:0]    header_bytes,
    input  logic                      in_valid,
    output logic                      in_ready,
    input  logic [HEADER_BITS-1:0]    in_header_bytes,
    input  logic [LENGTH_BITS-1:0]    in_skip,
    input  logic [LENGTH_BITS-1:0]    in_length,
    input  logic                      in_free,
    input  logic [META_BITS-1:0]      in_meta,
    input  logic                      rd_room,
    output logic                      rd_valid,
    output logic [WORD_BITS-1:0]      rd_first,
    output logic [WORD_BITS-1:0]      rd_words,
    output logic                      rd_free,
    input  logic                      words_valid,
    output logic                      words_ready,
    input  logic [8*BUS_BYTES-1:0]    words_data,
    output logic                      out_valid,
    input  logic                      out_ready,
    output logic [8*BUS_BYTES-1:0]    out_data,
    output logic [BYTES_BITS-1:0]     out_bytes,
    output logic                      out_last,
    output logic [META_BITS-1:0]      out_meta
);
    localparam int L = $clog2(BUS_BYTES);
    localparam int W = 8 * BUS_BYTES;
    // Numbers of bytes of a packet that is sent, and of words.
    localparam int T = (LENGTH_BITS > HEADER_BITS ? LENGTH_BITS : HEADER_BITS) + 1;
    localparam int N = (T > L ? T - L : 1) + 1;

    // A command, and what follows from it. Words of the stored part are rotated by `turn` bytes. Word k then has bytes of the
    // words `lead` + k and `lead` + k + 1 that are sent; where its first byte moves to a lower place, it is one earlier, and if it
    // were earlier than the first, then it is read in a step of its own before (`pre`).
    logic [T-1:0] total, spans;
    logic [L-1:0] skip_low, header_low;
    assign total      = T'(in_header_bytes) + T'(in_length);
    assign skip_low   = in_skip[L-1:0];
    assign spans      = T'(skip_low) + T'(in_length);
    assign header_low = L'(in_header_bytes);

    // The number of words that this many bytes take.
    function automatic [N-1:0] words_of(input [T-1:0] bytes);
        words_of = N'((bytes + T'(BUS_BYTES - 1)) >> L);
    endfunction

    logic                   next_valid, next_back, next_takes, next_free;
    logic [HEADER_BITS-1:0] next_header_bytes;
    logic [N-1:0]           next_in, next_out;
    logic [L-1:0]           next_turn, next_end;
    logic [META_BITS-1:0]   next_meta;
    logic [WORD_BITS-1:0]   next_first;
    always_ff @(posedge clk) begin
        next_valid        <= !rst && in_valid && in_ready;
        next_header_bytes <= in_header_bytes;
        next_takes        <= in_length != '0;
        next_back         <= header_low < skip_low;
        next_in           <= words_of(spans);
        next_out          <= words_of(total);
        next_turn         <= header_low - skip_low;
        next_end          <= L'(total - 1'b1);
        next_meta         <= in_meta;
        next_first        <= WORD_BITS'(T'(in_skip) >> L);
        next_free         <= in_free;
    end

    logic         early, prior;  // A word is read in a step before the first one.
    logic [N-1:0] header_words, lead, taken;
    assign early        = next_takes && next_back;
    assign header_words = N'(T'(next_header_bytes) >> L);
    assign prior        = early && header_words == '0;
    assign lead         = header_words - N'(early && !prior);
    assign taken        = next_takes ? next_in : '0;

    // The store is told what it is to read, and the rest waits in a FIFO, with what the first step depends on. Both have room for those
    // that come before `in_ready` is low.
    logic       job_put, job_valid, job_ready, turns;
    logic [4:0] job_count;
    always_ff @(posedge clk) begin
        rd_valid  <= !rst && next_valid;
        rd_first  <= next_first;
        rd_words  <= WORD_BITS'(taken);
        rd_free   <= next_free;
        job_put   <= !rst && next_valid && next_out != '0;
        job_count <= rst ? '0 : job_count + 5'(job_put) - 5'(job_valid && turns);
        in_ready  <= !rst && job_count < 5'd12 && rd_room;
    end
    logic [HEADER_BITS-1:0] job_header_bytes;
    logic [N-1:0]           job_lead, job_in, job_out;
    logic                   job_leads, job_lead_one, job_more_in, job_in_one, job_out_one, job_out_two, job_pre, job_needs, job_final;
    logic [L-1:0]           job_turn, job_end;
    logic [META_BITS-1:0]   job_meta;
    localparam int JOB_BITS = HEADER_BITS + 3 * N + 9 + 2 * L + META_BITS;
    logic [JOB_BITS-1:0]    job;
    always_ff @(posedge clk)
        job <= {
            next_header_bytes, lead, taken, next_out, lead != '0, lead == N'(1), next_takes, taken == N'(1),
            next_out == N'(1), next_out == N'(2), prior, lead == '0 && next_takes,
            next_out == N'(1) && !prior, next_turn, next_end, next_meta
        };
    hw_fifo #(
        .WIDTH(JOB_BITS),
        .DEPTH(16),
        .ROOM(1'b1)
    ) jobs (
        .clk,
        .rst,
        .in_valid(job_put),
        .in_ready(job_ready),
        .in_data(job),
        .out_valid(job_valid),
        .out_ready(turns),
        .out_data({
            job_header_bytes, job_lead, job_in, job_out, job_leads, job_lead_one, job_more_in, job_in_one,
            job_out_one, job_out_two, job_pre, job_needs, job_final, job_turn, job_end, job_meta
        })
    );

    // Steps: each may take a word of the store, and sends a word, but for a `pre` step. What the next step does depends on registers.
    // Where there is no packet, each step is the final one, and needs and sends nothing.
    logic active, pre, first, needs, go, room, final_step, sends;
    logic [N-1:0] lead_left, in_left, out_left;
    logic leads, lead_one, more_in, in_one;  // Whether lead_left is not 0, is 1, in_left is not 0, is 1.
    logic out_one, out_two;                  // Whether out_left was 1 at the beginning, is 2.
    logic [HEADER_BITS-1:0] header_left;
    logic [L-1:0]           turn, end_low;
    logic [META_BITS-1:0]   meta;
    logic will_need, will_have_room;
    assign go        = room && (!needs || words_valid);
    assign turns     = go && final_step;
    assign sends     = go && active && !pre;
    assign will_need = turns ? job_valid && job_needs : !go ? needs : leads ? lead_one && more_in : more_in && !in_one;
    always_ff @(posedge clk) begin
        needs       <= !rst && will_need;
        words_ready <= !rst && will_need && will_have_room;  // The same as `needs && room`.
        if (rst) begin
            active     <= 1'b0;
            final_step <= 1'b1;
        end else if (turns) begin
            active     <= job_valid;
            final_step <= !job_valid || job_final;
        end else if (go) begin
            final_step <= pre ? out_one : out_two;
        end
        if (turns) begin
            lead_left   <= job_lead;
            leads       <= job_leads;
            lead_one    <= job_lead_one;
            in_left     <= job_in;
            more_in     <= job_more_in;
            in_one      <= job_in_one;
            out_left    <= job_out;
            out_one     <= job_out_one;
            out_two     <= job_out_two;
            pre         <= job_pre;
            header_left <= job_header_bytes;
            first       <= 1'b1;
            turn        <= job_turn;
            end_low     <= job_end;
            meta        <= job_meta;
        end else if (go) begin
            pre <= 1'b0;
            if (leads) begin
                lead_left <= lead_left - 1'b1;
                leads     <= !lead_one;
                lead_one  <= lead_left == N'(2);
            end else if (more_in) begin
                in_left <= in_left - 1'b1;
                more_in <= !in_one;
                in_one  <= in_left == N'(2);
            end
            if (!pre) begin
                first       <= 1'b0;
                out_left    <= out_left - 1'b1;
                out_two     <= out_left == N'(3);
                header_left <= T'(header_left) < T'(BUS_BYTES) ? '0 : HEADER_BITS'(T'(header_left) - T'(BUS_BYTES));
            end
        end
    end

    // A step's words are sent later: it begins only if there is room for them at the end, even if the last step sent one and
    // none has left since.
    logic [4:0] held;
    logic       sent;
    assign will_have_room = held < 5'd15;
    always_ff @(posedge clk) begin
        sent <= !rst && out_valid && out_ready;
        held <= rst ? '0 : held + 5'(sends) - 5'(sent);
        room <= !rst && will_have_room;
    end

    // The words have a register and then turn, a multiplexer of four a stage, and what belongs to their steps goes with them.
    localparam int STAGES = 1 + (L + 1) / 2;
    localparam int C = L + BYTES_BITS + META_BITS + L + 4;
    logic [(STAGES+1)*W-1:0] words;
    logic [(STAGES+1)*C-1:0] steps;
    assign words[0+:W] = words_data;
    assign steps[0+:C] = {
        turn, T'(header_left) < T'(BUS_BYTES) ? BYTES_BITS'(header_left) : BYTES_BITS'(BUS_BYTES), meta, end_low,
        final_step, first, go && needs, sends
    };
    function automatic [W-1:0] rotated(input [W-1:0] word, input integer bytes);
        rotated = W'({word, word} >> (W - 8 * (bytes % BUS_BYTES)));
    endfunction
    generate
        for (genvar s = 0; s < STAGES; s++) begin : stage
            logic [W-1:0] from, to;
            logic [C-1:0] step, step_q;
            assign from  = words[s*W+:W];
            assign step  = steps[s*C+:C];
            assign words[(s+1)*W+:W] = to;
            assign steps[(s+1)*C+:C] = step_q;
            always_ff @(posedge clk) begin
                step_q <= step;
                if (rst) step_q[1:0] <= '0;
            end
            if (s == 0) begin : taken
                always_ff @(posedge clk) to <= from;
            end else begin : turned
                logic [W-1:0] by1, by2, by3;
                assign by1 = rotated(from, 4 ** (s - 1));
                assign by2 = rotated(from, 2 * 4 ** (s - 1));
                assign by3 = rotated(from, 3 * 4 ** (s - 1));
                for (genvar i = 0; i < W; i += 64) begin : lane
                    localparam int BITS = W - i < 64 ? W - i : 64;
                    logic [1:0] digit;  // Of these bits alone.
                    (* keep *) always_ff @(posedge clk) digit <= 2'(steps[s*C-1-:L] >> 2 * (s - 1));
                    always_ff @(posedge clk)
                        case (digit)
                            2'd0: to[i+:BITS] <= from[i+:BITS];
                            2'd1: to[i+:BITS] <= by1[i+:BITS];
                            2'd2: to[i+:BITS] <= by2[i+:BITS];
                            default: to[i+:BITS] <= by3[i+:BITS];
                        endcase
                end
            end
        end
    endgenerate

    // Masks and the header are made one cycle before the word has turned, so that they arrive with it.
    logic [L-1:0]          near_turn;
    logic [BYTES_BITS-1:0] near_header;
    assign near_turn   = steps[STAGES*C-1-:L];
    assign near_header = steps[STAGES*C-1-L-:BYTES_BITS];
    logic [BUS_BYTES-1:0]  is_header, is_before;
    logic [W-1:0]          header_word;  // The first byte highest.
    localparam int HEADER_WORDS = (HEADER_BYTES + BUS_BYTES - 1) / BUS_BYTES;
    localparam int HEADER_W = W * HEADER_WORDS;
    localparam int K = HEADER_WORDS > 1 ? $clog2(HEADER_WORDS) : 1;
    logic header_ready, header_there, header_take;
    generate
        if (HEADER_WORDS == 1 || GAP < HEADER_WORDS || HEADERS << K > 512) begin : whole
            // This many bits have block RAM and a register of their own, which also say that they come.
            localparam int PART = 288;
            localparam int PARTS = (8 * HEADER_BYTES + PART - 1) / PART;
            logic [8*HEADER_BYTES-1:0] waiting;
            logic [PARTS-1:0]          there, ready;
            for (genvar i = 0; i < PARTS; i++) begin : part
                localparam int BITS = 8 * HEADER_BYTES - PART * i < PART ? 8 * HEADER_BYTES - PART * i : PART;
                logic            comes;
                logic [BITS-1:0] bits;
                (* keep *) always_ff @(posedge clk) comes <= !rst && header_valid;
                always_ff @(posedge clk) bits <= header[PART*i+:BITS];
                hw_fifo #(
                    .WIDTH(BITS),
                    .DEPTH(HEADERS),
                    .ROOM(1'b1)
                ) headers (
                    .clk,
                    .rst,
                    .in_valid(comes),
                    .in_ready(ready[i]),
                    .in_data(bits),
                    .out_valid(there[i]),
                    .out_ready(header_take),
                    .out_data(waiting[PART*i+:BITS])
                );
            end
            assign header_there = there[0];
            assign header_ready = ready[0];
            assign header_take = steps[(STAGES-1)*C] && steps[(STAGES-1)*C+2];  // The first one is sent.
            logic [HEADER_W-1:0] rest, next;
            assign next = {waiting, {HEADER_W - 8 * HEADER_BYTES{1'b0}}};
            assign header_word = rest[HEADER_W-1-:W];
            for (genvar i = 0; i < HEADER_W / 64; i++) begin : lane
                // `header_take`, and that a word is sent, of these bits alone.
                logic take, send;
                logic [63:0] following;
                if (64 * i < W) assign following = '0;
                else assign following = rest[64*i-W+:64];
                (* keep *) always_ff @(posedge clk) begin
                    send <= !rst && steps[(STAGES-2)*C];
                    take <= !rst && steps[(STAGES-2)*C] && steps[(STAGES-2)*C+2];
                end
                always_ff @(posedge clk) begin
                    if (take) rest[64*i+:64] <= next[64*i+:64];
                    else if (send) rest[64*i+:64] <= following;
                end
            end
            logic unused;
            assign unused = &{1'b0, header_bytes, header_soon, there, ready};
        end else begin : by_words
            // Words are written one a cycle, as many as the header has, and read with the words that they are sent in.
            logic [HEADER_W-1:0]    kept, next;
            logic [HEADER_BITS-1:0] left;
            logic                   some, came;
            logic [HEADER_BITS-1:0] came_bytes;
            logic [W-1:0]           waiting, next_word;
            assign next = {header, {HEADER_W - 8 * HEADER_BYTES{1'b0}}};
            always_ff @(posedge clk) begin
                came       <= !rst && header_valid;
                came_bytes <= header_bytes;
                next_word  <= kept[HEADER_W-1-:W];
                some <= !rst && (came ? came_bytes != '0 : T'(left) > T'(BUS_BYTES));
                if (rst) left <= '0;
                else if (came) left <= came_bytes;
                else left <= T'(left) < T'(BUS_BYTES) ? '0 : HEADER_BITS'(T'(left) - T'(BUS_BYTES));
            end
            for (genvar i = 0; i < HEADER_W / 64; i++) begin : lane
                logic comes;  // `header_soon` of the cycle before, of these bits alone.
                logic [63:0] following;
                if (64 * i < W) assign following = '0;
                else assign following = kept[64*i-W+:64];
                (* keep *) always_ff @(posedge clk) comes <= header_soon;
                always_ff @(posedge clk) kept[64*i+:64] <= comes ? next[64*i+:64] : following;
            end
            hw_fifo #(
                .WIDTH(W),
                .DEPTH(HEADERS << K),
                .ROOM(1'b1)
            ) headers (
                .clk,
                .rst,
                .in_valid(some),
                .in_ready(header_ready),
                .in_data(next_word),
                .out_valid(header_there),
                .out_ready(header_take),
                .out_data(waiting)
            );
            always_ff @(posedge clk) begin
                header_take <= !rst && steps[(STAGES-2)*C] && steps[(STAGES-1)*C-1-L-:BYTES_BITS] != '0;
                if (header_take) header_word <= waiting;
            end
        end
    endgenerate
    always_ff @(posedge clk) begin
        for (int i = 0; i < BUS_BYTES; i++) begin
            is_header[i] <= BYTES_BITS'(i) < near_header;
            is_before[i] <= L'(i) < near_turn;
        end
    end

    // Words that are sent: bytes of the header, of the stored word before, of this one.
    logic                  send, send_last;
    logic [META_BITS-1:0]  send_meta;
    logic [L-1:0]          send_end;
    logic [W-1:0]          word, word_before;
    assign word = words[STAGES*W+:W];
    assign {send_meta, send_end, send_last} = steps[STAGES*C+3+:META_BITS+L+1];
    assign send = steps[STAGES*C];
    generate
        for (genvar i = 0; i < W; i += 64) begin : previous
            localparam int BITS = W - i < 64 ? W - i : 64;
            logic has;  // That the step has a word, of these bits alone.
            (* keep *) always_ff @(posedge clk) has <= !rst && steps[(STAGES-1)*C+1];
            always_ff @(posedge clk) if (has) word_before[i+:BITS] <= word[i+:BITS];
        end
    endgenerate

    logic                  put, put_ready, put_last;
    logic [W-1:0]          put_word;
    logic [BYTES_BITS-1:0] put_bytes;
    logic [META_BITS-1:0]  put_meta;
    always_ff @(posedge clk) begin
        put <= send && !rst;
        for (int i = 0; i < BUS_BYTES; i++) begin
            if (is_header[i]) put_word[8*i+:8] <= header_word[W-8*i-1-:8];
            else if (is_before[i]) put_word[8*i+:8] <= word_before[8*i+:8];
            else put_word[8*i+:8] <= word[8*i+:8];
        end
        put_last  <= send_last;
        put_bytes <= send_last ? BYTES_BITS'(send_end) + 1'b1 : BYTES_BITS'(BUS_BYTES);
        put_meta  <= send_meta;
    end
    hw_fifo #(
        .WIDTH(W + BYTES_BITS + 1 + META_BITS),
        .DEPTH(16),
        .ROOM(1'b1)
    ) packets (
        .clk,
        .rst,
        .in_valid(put),
        .in_ready(put_ready),
        .in_data({put_meta, put_last, put_bytes, put_word}),
        .out_valid,
        .out_ready,
        .out_data({out_meta, out_last, out_bytes, out_data})
    );

    // The header is always there, and there is always room.
    logic unused;
    assign unused = &{1'b0, job_ready, header_ready, header_there, put_ready};
endmodule
