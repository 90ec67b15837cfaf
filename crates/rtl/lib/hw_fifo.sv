// FIFO. Holds at least `DEPTH` words (a power of two, at least 2). One transfer a cycle in each direction.
//
// Up to 32 words are distributed RAM, and a word is at the output one cycle after its write. More (or `BLOCK`) are block RAM with an
// output register, and a word is at the output three cycles after its write.
module hw_fifo #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 16,
    parameter bit BLOCK = DEPTH > 32
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data
);
    localparam int B = $clog2(DEPTH);

    // One bit more than an address, so that full and empty differ.
    logic [B:0] wr_ptr, rd_ptr, wr_next, rd_next;
    logic put, take;  // A word enters, or leaves, the memory.
    assign put = in_valid && in_ready;
    assign wr_next = wr_ptr + (B + 1)'(put);
    assign rd_next = rd_ptr + (B + 1)'(take);

    logic filled;  // The memory has a word to read.
    always_ff @(posedge clk) begin
        if (rst) begin
            wr_ptr   <= '0;
            rd_ptr   <= '0;
            in_ready <= 1'b1;
            filled   <= 1'b0;
        end else begin
            wr_ptr   <= wr_next;
            rd_ptr   <= rd_next;
            in_ready <= wr_next != {~rd_next[B], rd_next[B-1:0]};
            filled   <= wr_next != rd_next;
        end
    end

    generate
        if (!BLOCK) begin : distributed
            logic [WIDTH-1:0] memory[0:DEPTH-1];
            always_ff @(posedge clk) if (put) memory[wr_ptr[B-1:0]] <= in_data;
            assign out_valid = filled;
            assign take = filled && out_ready;
            assign out_data = memory[rd_ptr[B-1:0]];
        end else begin : block
            (* no_rw_check, ram_style = "block" *) logic [WIDTH-1:0] memory[0:DEPTH-1];
            // From the memory through its read port to the output register; a stage moves when the next is free.
            logic [WIDTH-1:0] read;
            logic             read_valid, move;
            assign move = !out_valid || out_ready;
            assign take = filled && (!read_valid || move);
            always_ff @(posedge clk) begin
                if (put) memory[wr_ptr[B-1:0]] <= in_data;
                if (take) read <= memory[rd_ptr[B-1:0]];
                if (move) out_data <= read;
                if (rst) begin
                    read_valid <= 1'b0;
                    out_valid  <= 1'b0;
                end else begin
                    if (take) read_valid <= 1'b1;
                    else if (move) read_valid <= 1'b0;
                    if (move) out_valid <= read_valid;
                end
            end
        end
    endgenerate
endmodule
