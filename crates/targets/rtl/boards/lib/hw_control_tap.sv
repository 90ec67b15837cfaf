// Takes the frames for the control of the board out of a packet stream: those to the Ethernet address `MAC`. Broadcasts go both
// ways. Words have four bytes, the first one lowest; frames have at least two words. `control_valid` comes without waiting.
module hw_control_tap #(
    parameter logic [47:0] MAC = 48'h10e2d5000000
) (
    input  logic        clk,
    input  logic        rst,
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [31:0] in_data,
    input  logic [1:0]  in_rest,
    input  logic        in_last,
    output logic        out_valid,
    input  logic        out_ready,
    output logic [31:0] out_data,
    output logic [1:0]  out_rest,
    output logic        out_last,
    output logic        control_valid
);
    // The address in the order of the stream.
    localparam logic [47:0] WANTED = {MAC[7:0], MAC[15:8], MAC[23:16], MAC[31:24], MAC[39:32], MAC[47:40]};

    // The first two words wait until it is known where they go.
    typedef enum logic [2:0] {
        FIRST,
        SECOND,
        CHOOSE,
        SEND_FIRST,
        SEND_SECOND,
        REST
    } state_t;
    state_t state;
    logic [31:0] first, second;
    logic passes, taken, moves;
    assign in_ready      = state == FIRST || state == SECOND || (state == REST && (!passes || out_ready));
    assign out_data      = state == SEND_FIRST ? first : state == SEND_SECOND ? second : in_data;
    assign out_rest      = state == REST ? in_rest : 2'd3;
    assign out_last      = state == REST && in_last;
    assign out_valid     = passes && (state == SEND_FIRST || state == SEND_SECOND || (state == REST && in_valid));
    assign moves         = (!passes || out_ready) && (state != REST || in_valid);
    assign control_valid = taken && moves && (state == SEND_FIRST || state == SEND_SECOND || state == REST);
    always_ff @(posedge clk) begin
        case (state)
            FIRST:
            if (in_valid) begin
                first <= in_data;
                state <= SECOND;
            end
            SECOND:
            if (in_valid) begin
                second <= in_data;
                state  <= CHOOSE;
            end
            CHOOSE: begin
                passes <= {second[15:0], first} != WANTED;
                taken  <= {second[15:0], first} == WANTED || {second[15:0], first} == '1;
                state  <= SEND_FIRST;
            end
            SEND_FIRST: if (moves) state <= SEND_SECOND;
            SEND_SECOND: if (moves) state <= REST;
            default: if (moves && in_last) state <= FIRST;
        endcase
        if (rst) state <= FIRST;
    end
endmodule
