// CRC of `BITS` bits (whole bytes, the highest first) with the reflected polynomial `POLYNOMIAL`, from `INITIAL`, exclusive-or
// `FINAL`: its low `OUT_BITS` bits. Latency 2, one a cycle.
//
// A CRC is linear: each of its bits is the parity of some bits of the data, and a constant.
module hw_crc #(
    parameter int BITS = 64,
    parameter int OUT_BITS = 32,
    parameter bit [31:0] POLYNOMIAL = 32'hedb88320,
    parameter bit [31:0] INITIAL = 0,
    parameter bit [31:0] FINAL = 0
) (
    input  logic                clk,
    input  logic [BITS-1:0]     in_data,
    output logic [OUT_BITS-1:0] out_crc
);
    localparam int PARTS = (BITS + 31) / 32;

    // What bits of the data contribute, 32 bits each: the one that comes last first. A step of the CRC with a bit of zero leads
    // from one to the next. (Written out, since synthesis tools are slow with functions that call others at elaboration.)
    function automatic [1024*PARTS-1:0] contributions();
        contributions[31:0] = POLYNOMIAL;
        for (int i = 1; i < 32 * PARTS; i++)
            contributions[32*i+:32] =
                {1'b0, contributions[32*i-31+:31]} ^ (POLYNOMIAL & {32{contributions[32*i-32]}});
    endfunction
    localparam bit [1024*PARTS-1:0] CONTRIBUTIONS = contributions();

    // What is left of the initial value.
    function automatic [31:0] initial_part();
        initial_part = INITIAL;
        for (int i = 0; i < BITS; i++) initial_part = {1'b0, initial_part[31:1]} ^ (POLYNOMIAL & {32{initial_part[0]}});
    endfunction
    localparam bit [31:0] CONSTANT = initial_part() ^ FINAL;


    // Parities of the bits that count among 32, then of those.
    logic [PARTS*32-1:0]       data;
    logic [PARTS*OUT_BITS-1:0] parities;
    assign data = (PARTS * 32)'(in_data);
    generate
        for (genvar p = 0; p < PARTS; p++) begin : part
            localparam bit [1023:0] PART = CONTRIBUTIONS[1024*p+:1024];
            for (genvar j = 0; j < OUT_BITS; j++) begin : bits
                // By bit of the data; the highest bit of the lowest byte comes last.
                localparam bit [31:0] ROW = {
                    PART[32*24+j], PART[32*25+j], PART[32*26+j], PART[32*27+j],
                    PART[32*28+j], PART[32*29+j], PART[32*30+j], PART[32*31+j],
                    PART[32*16+j], PART[32*17+j], PART[32*18+j], PART[32*19+j],
                    PART[32*20+j], PART[32*21+j], PART[32*22+j], PART[32*23+j],
                    PART[32*8+j], PART[32*9+j], PART[32*10+j], PART[32*11+j],
                    PART[32*12+j], PART[32*13+j], PART[32*14+j], PART[32*15+j],
                    PART[32*0+j], PART[32*1+j], PART[32*2+j], PART[32*3+j],
                    PART[32*4+j], PART[32*5+j], PART[32*6+j], PART[32*7+j]
                };
                always_ff @(posedge clk) parities[j*PARTS+p] <= ^(data[32*p+:32] & ROW);
            end
        end
        for (genvar j = 0; j < OUT_BITS; j++) begin : result
            always_ff @(posedge clk) out_crc[j] <= ^parities[j*PARTS+:PARTS] ^ CONSTANT[j];
        end
    endgenerate
endmodule
