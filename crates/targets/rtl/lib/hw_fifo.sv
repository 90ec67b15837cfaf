// FIFO. Holds at least `DEPTH` words (a power of two, at least 2). One transfer a cycle in each direction.
//
// Up to 32 words are distributed RAM, and a word is at the output one cycle after its write. More (or `BLOCK`) are block RAM with an
// output register, and a word is at the output three cycles after its write.
//
// With `ROOM`, words come only when there is room for them, and `in_ready` does not matter.
module hw_fifo #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 16,
    parameter bit BLOCK = DEPTH > 32,
    parameter bit ROOM = 1'b0
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

    logic [B-1:0] wr_ptr, rd_ptr;
    logic [B:0]   count;      // Words in the memory.
    logic         put, take;  // A word enters, or leaves, the memory. Both may be known late in a cycle.
    assign put = in_valid && (ROOM || in_ready);

    // What follows from a word that enters and one that leaves is prepared: whether there is a word to read, whether it is the only one,
    // whether one more is all that there is room for.
    logic filled, one, near;
    logic is_none, is_two, is_near2, is_full;
    assign is_none  = count == '0;
    assign is_two   = count == (B + 1)'(2);
    assign is_near2 = count == (B + 1)'(DEPTH - 2);
    assign is_full  = count == (B + 1)'(DEPTH);
    always_ff @(posedge clk) begin
        if (rst) begin
            wr_ptr   <= '0;
            rd_ptr   <= '0;
            count    <= '0;
            in_ready <= 1'b1;
            filled   <= 1'b0;
            one      <= 1'b0;
            near     <= 1'b0;
        end else begin
            if (put) wr_ptr <= wr_ptr + 1'b1;
            if (take) rd_ptr <= rd_ptr + 1'b1;
            case ({put, take})
                2'b10: count <= count + 1'b1;
                2'b01: count <= count - 1'b1;
                default: count <= count;
            endcase
            in_ready <= take || (in_ready && !(put && near));
            filled   <= put || (filled && !(take && one));
            one      <= put == take ? one : put ? is_none : is_two;
            near     <= put == take ? near : put ? is_near2 : is_full;
        end
    end

    generate
        if (!BLOCK) begin : distributed
            logic [WIDTH-1:0] memory[0:DEPTH-1];
            always_ff @(posedge clk) if (put) memory[wr_ptr] <= in_data;
            assign out_valid = filled;
            assign take = filled && out_ready;
            assign out_data = memory[rd_ptr];
        end else begin : block
            (* no_rw_check, ram_style = "block" *) logic [WIDTH-1:0] memory[0:DEPTH-1];
            // From the memory through its read port to the output register; a stage moves when the next is free.
            logic [WIDTH-1:0] read;
            logic             read_valid, read_valid_next, move, free;  // `free`: a stage has no word.
            assign move = !out_valid || out_ready;
            assign take = filled && (free || out_ready);
            assign read_valid_next = take || (read_valid && !move);
            always_ff @(posedge clk) begin
                if (put) memory[wr_ptr] <= in_data;
                if (take) read <= memory[rd_ptr];
                if (move) out_data <= read;
                if (rst) begin
                    read_valid <= 1'b0;
                    out_valid  <= 1'b0;
                    free       <= 1'b1;
                end else begin
                    read_valid <= read_valid_next;
                    if (move) out_valid <= read_valid;
                    free <= !read_valid_next || (move && !read_valid);
                end
            end
        end
    endgenerate
endmodule
