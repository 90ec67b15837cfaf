// Two substitutions of AES (FIPS 197, 5.1.1), which share a memory. Latency 2: a block RAM and its output register; with `LUTS` the
// memory is logic.
module hw_sbox #(
    parameter int LUTS = 0
) (
    input  logic        clk,
    input  logic [15:0] in_bytes,
    output logic [15:0] out_bytes
);
    localparam bit [2047:0] SBOX = {
        256'h637c777bf26b6fc53001672bfed7ab76ca82c97dfa5947f0add4a2af9ca472c0,
        256'hb7fd9326363ff7cc34a5e5f171d8311504c723c31896059a071280e2eb27b275,
        256'h09832c1a1b6e5aa0523bd6b329e32f8453d100ed20fcb15b6acbbe394a4c58cf,
        256'hd0efaafb434d338545f9027f503c9fa851a3408f929d38f5bcb6da2110fff3d2,
        256'hcd0c13ec5f974417c4a77e3d645d197360814fdc222a908846eeb814de5e0bdb,
        256'he0323a0a4906245cc2d3ac629195e479e7c8376d8dd54ea96c56f4ea657aae08,
        256'hba78252e1ca6b4c6e8dd741f4bbd8b8a703eb5664803f60e613557b986c11d9e,
        256'he1f8981169d98e949b1e87e9ce5528df8ca1890dbfe6426841992d0fb054bb16
    };

    logic [15:0] read;
    always_ff @(posedge clk) out_bytes <= read;
    generate
        if (LUTS != 0) begin : luts
            (* ram_style = "logic", rom_style = "logic" *) logic [7:0] sbox[0:255];
            initial for (int i = 0; i < 256; i++) sbox[i] = SBOX[2047-8*i-:8];
            always_ff @(posedge clk) read <= {sbox[in_bytes[15:8]], sbox[in_bytes[7:0]]};
        end else begin : block
            (* ram_style = "block", rom_style = "block" *) logic [7:0] sbox[0:255];
            initial for (int i = 0; i < 256; i++) sbox[i] = SBOX[2047-8*i-:8];
            always_ff @(posedge clk) read <= {sbox[in_bytes[15:8]], sbox[in_bytes[7:0]]};
        end
    endgenerate
endmodule
