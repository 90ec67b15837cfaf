// Frames from GMII (IEEE 802.3, clause 35): without preamble and frame check sequence, in words of four bytes, the first byte lowest.
//
// `out_bad` comes with the last word of a frame whose check sequence is wrong, during which the PHY reported an error, which is shorter
// than 64 bytes, or longer than `MAX_BYTES` (without check sequence). There is a word at most every four cycles, and no waiting.
module hw_gmii_rx #(
    parameter int MAX_BYTES = 1536
) (
    input  logic        clk,
    input  logic [7:0]  rxd,
    input  logic        rx_dv,
    input  logic        rx_er,
    output logic        out_valid,
    output logic [31:0] out_data,
    output logic [1:0]  out_rest,  // Bytes of the word, less one.
    output logic        out_last,
    output logic        out_bad
);
    localparam int L = $clog2(MAX_BYTES + 6);
    localparam logic [31:0] RESIDUE = 32'hdebb_20e3;

    logic [7:0] d = '0;
    logic dv = 1'b0, er = 1'b0;
    always_ff @(posedge clk) begin
        d  <= rxd;
        dv <= rx_dv;
        er <= rx_er;
    end

    // Between the start-of-frame delimiter and the end.
    logic framed = 1'b0, waits = 1'b1;
    logic error, long;
    logic [L-1:0] length = '0;  // With check sequence; stops at the first that is too long.
    logic [31:0] crc, crc_next;
    hw_crc32_8 next (
        .in(crc),
        .data(d),
        .out(crc_next)
    );
    assign long = length > L'(MAX_BYTES + 4);

    // The last five bytes: when a frame ends, four are its check sequence and the fifth is the last one.
    logic [39:0] held;
    logic [2:0]  count = '0;
    // A byte leaves.
    logic        byte_valid = 1'b0, byte_last = 1'b0, byte_bad = 1'b0;
    logic [7:0]  byte_data;
    always_ff @(posedge clk) begin
        byte_valid <= 1'b0;
        byte_last  <= 1'b0;
        byte_data  <= held[39:32];
        byte_bad   <= error || long || crc != RESIDUE || length < L'(64);
        if (framed) begin
            if (dv) begin
                held <= {held[31:0], d};
                if (count == 3'd5) byte_valid <= !long;
                else count <= count + 1'b1;
                crc   <= crc_next;
                error <= error || er;
                if (!long) length <= length + 1'b1;
            end else begin
                framed     <= 1'b0;
                byte_valid <= count == 3'd5;
                byte_last  <= count == 3'd5;
            end
        end else begin
            // A preamble, of any length, and the delimiter. After anything else the frame is passed over.
            count  <= '0;
            crc    <= '1;
            error  <= 1'b0;
            length <= '0;
            if (!dv) waits <= 1'b1;
            else if (d == 8'hd5 && !er) begin
                framed <= waits;
                waits  <= 1'b0;
            end else if (d != 8'h55 || er) waits <= 1'b0;
        end
    end

    logic [1:0] at = '0;
    initial out_valid = 1'b0;
    always_ff @(posedge clk) begin
        out_valid <= byte_valid && (byte_last || at == 2'd3);
        out_last  <= byte_last;
        out_bad   <= byte_bad;
        out_rest  <= at;
        if (byte_valid) begin
            out_data[8*at+:8] <= byte_data;
            at                <= byte_last ? 2'd0 : at + 1'b1;
        end
    end
endmodule
