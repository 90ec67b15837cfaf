// Frames to GMII (IEEE 802.3, clause 35): preamble, padding to 60 bytes, check sequence, and a gap of 12 bytes.
//
// A word has four bytes, the first one lowest; the last of a frame may have fewer. Words of a frame must follow in time: `in_valid` is
// high from its first word to its last one.
module hw_gmii_tx (
    input  logic        clk,
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [31:0] in_data,
    input  logic [1:0]  in_rest,  // Bytes of the word, less one.
    input  logic        in_last,
    output logic [7:0]  txd,
    output logic        tx_en
);
    localparam int PREAMBLE = 8, FRAME = 60, GAP = 12;

    typedef enum logic [2:0] {
        IDLE,
        START,
        DATA,
        PAD,
        CHECK,
        WAIT
    } state_t;
    state_t state = IDLE;
    logic [3:0] left = '0;  // Bytes of this state that follow.
    logic [1:0] at = '0;
    logic [5:0] sent = '0;  // Bytes of the frame, at most 60.
    logic       full;  // With this byte the frame has 60.
    assign full     = sent >= 6'(FRAME - 1);
    assign in_ready = state == DATA && at == in_rest;

    logic       byte_en = 1'b0, byte_start = 1'b0, byte_check = 1'b0;
    logic [7:0] byte_data;
    always_ff @(posedge clk) begin
        byte_en    <= state != IDLE && state != WAIT;
        byte_start <= state == START;
        byte_check <= state == CHECK;
        left       <= left - 1'b1;
        case (state)
            START:   byte_data <= left == '0 ? 8'hd5 : 8'h55;
            DATA:    byte_data <= in_data[8*at+:8];
            default: byte_data <= '0;
        endcase
        if ((state == DATA || state == PAD) && !full) sent <= sent + 1'b1;
        case (state)
            IDLE: begin
                left <= 4'(PREAMBLE - 1);
                sent <= '0;
                at   <= '0;
                if (in_valid) state <= START;
            end
            START: if (left == '0) state <= DATA;
            DATA: begin
                at <= at == in_rest ? '0 : at + 1'b1;
                if (in_last && at == in_rest) begin
                    state <= full ? CHECK : PAD;
                    left  <= 4'd3;
                end
            end
            PAD: begin
                left <= 4'd3;
                if (full) state <= CHECK;
            end
            CHECK:
            if (left == '0) begin
                state <= WAIT;
                left  <= 4'(GAP - 2);
            end
            default: if (left == '0) state <= IDLE;
        endcase
    end

    logic [31:0] crc = '1, crc_next;
    hw_crc32_8 next (
        .in(crc),
        .data(byte_data),
        .out(crc_next)
    );
    initial tx_en = 1'b0;
    always_ff @(posedge clk) begin
        tx_en <= byte_en;
        txd   <= byte_check ? ~crc[7:0] : byte_data;
        if (byte_start) crc <= '1;
        else if (byte_check) crc <= {8'd0, crc[31:8]};
        else if (byte_en) crc <= crc_next;
    end
endmodule
