// A queue of `DEPTH` words (a power of two) for the driver. A word that comes while the queue is full is lost, and counted.
//
// The driver reads {whether there is a word, the word}; with `ctl_write` it takes the word. With `ctl_index` 1 it reads the number of words
// that were lost, and with `ctl_write` sets it to zero. One request at a time.
module hw_digest #(
    parameter int WIDTH = 64,
    parameter int DEPTH = 64
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             in_valid,
    input  logic [WIDTH-1:0] in_data,
    input  logic             ctl_valid,
    output logic             ctl_ready,
    input  logic             ctl_write,
    input  logic [0:0]       ctl_index,
    input  logic [WIDTH:0]   ctl_wdata,
    output logic             ctl_done,
    output logic [WIDTH:0]   ctl_rdata
);
    localparam int LOST_BITS = WIDTH < 32 ? WIDTH : 32;

    logic room, valid, takes, clears;
    logic [WIDTH-1:0] word;
    logic [LOST_BITS-1:0] lost;
    hw_fifo #(
        .WIDTH(WIDTH),
        .DEPTH(DEPTH)
    ) queue (
        .clk,
        .rst,
        .in_valid,
        .in_ready(room),
        .in_data,
        .out_valid(valid),
        .out_ready(takes),
        .out_data(word)
    );
    assign ctl_ready = !ctl_done;
    assign takes     = ctl_valid && ctl_ready && ctl_write && !ctl_index[0];
    assign clears    = ctl_valid && ctl_ready && ctl_write && ctl_index[0];
    always_ff @(posedge clk) begin
        ctl_done  <= !rst && ctl_valid && ctl_ready;
        ctl_rdata <= ctl_index[0] ? (WIDTH + 1)'(lost) : {valid, word};
        if (rst) lost <= '0;
        else if (clears) lost <= LOST_BITS'(in_valid && !room);
        else if (in_valid && !room && lost != '1) lost <= lost + 1'b1;
    end

    logic unused;
    assign unused = &{1'b0, ctl_wdata};
endmodule
