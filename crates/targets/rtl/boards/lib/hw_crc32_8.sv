// The next state of Ethernet's CRC-32 (reflected polynomial 0xedb88320) after a byte, without registers. The state begins with all
// ones; its complement, lowest byte first, is the frame check sequence.
module hw_crc32_8 (
    input  logic [31:0] in,
    input  logic [7:0]  data,
    output logic [31:0] out
);
    always_comb begin
        out = in ^ {24'd0, data};
        for (int i = 0; i < 8; i++) out = (out >> 1) ^ (out[0] ? 32'hedb8_8320 : 32'd0);
    end
endmodule
