// A responder to Etherbone (CERN's, as LiteX has it: version 1, 32-bit addresses and data, over UDP port 1234), to ARP for its address, and
// to ICMP echo requests. Frames come without check sequence, in words of four bytes, the first one lowest.
//
// A frame is stored, worked off, and answered, one at a time: `in_ready` is low meanwhile. Records are worked off in order, and of
// each first the writes, to addresses one after the other or, with the flag WFF, to one. What is read is answered in one frame, to
// where the request came from. A request that only writes has no answer. Answers are not longer than requests: they overwrite them.
// The checksums of IP and UDP are not looked at: the MAC has compared that of the frame.
//
// `bus_wr_en` is high with address and data until `bus_wr_ready`, and the next access waits until that is high again; `bus_rd_en` with the
// address until `bus_rd_valid`, which comes with `bus_rd_data`.
module hw_etherbone #(
    parameter logic [47:0] MAC = 48'h10e2d5000000,
    parameter logic [31:0] IP = 32'hc0a80132
) (
    input  logic        clk,
    input  logic        rst,
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [31:0] in_data,
    input  logic        in_last,
    output logic        out_valid,
    input  logic        out_ready,
    output logic [31:0] out_data,
    output logic [1:0]  out_rest,
    output logic        out_last,
    output logic        bus_wr_en,
    input  logic        bus_wr_ready,
    output logic [31:0] bus_wr_addr,
    output logic [31:0] bus_wr_data,
    output logic        bus_rd_en,
    output logic [31:0] bus_rd_addr,
    input  logic        bus_rd_valid,
    input  logic [31:0] bus_rd_data
);
    localparam int WORDS = 512;
    localparam int A = $clog2(WORDS);
    localparam logic [15:0] PORT = 16'd1234;
    // Words of a frame, two bytes in front of it, the first byte highest: everything behind the Ethernet header is aligned then.
    localparam int UDP = 9, ETHERBONE = 11, RECORDS = 13;

    typedef enum logic [3:0] {
        RECEIVE,
        FLUSH,
        DECIDE,
        FETCH,  // The word at `from` is there in the next cycle.
        TAKE,
        WRITE,
        WRITTEN,
        READ,
        SUM,
        FOLD,
        LOAD,
        FORM,
        SEND
    } state_t;
    // What the next word of a record is.
    typedef enum logic [2:0] {
        HEADER,
        WRITE_BASE,
        WRITE_DATA,
        READ_BASE,
        READ_ADDRESS
    } part_t;
    typedef enum logic [1:0] {
        ARP,
        ECHO,
        ACCESS
    } kind_t;
    state_t state;
    part_t  part;
    kind_t  kind;

    // The frame.
    (* no_rw_check, ram_style = "block" *) logic [31:0] memory[0:WORDS-1];
    logic [A-1:0] from, to;
    logic [31:0] word, put_word;
    logic put;
    always_ff @(posedge clk) begin
        word <= memory[from];
        if (put) memory[to] <= put_word;
    end

    // What has been received: in network order, and the word that it completes.
    logic [31:0] bytes, came;
    logic [15:0] half;
    logic        takes;
    assign bytes    = {in_data[7:0], in_data[15:8], in_data[23:16], in_data[31:24]};
    assign came     = {half, state == FLUSH ? 16'd0 : bytes[31:16]};
    assign in_ready = state == RECEIVE;
    assign takes    = in_valid && in_ready;

    // What the headers say.
    logic [47:0] peer_mac;
    logic [31:0] peer_ip;
    logic [15:0] peer_port, ether_type, ip_length, udp_length, check;
    logic        to_us, broadcast, to_ip, arp_ok, ip_ok, udp_ok, echo_ok, magic_ok, probes, overlong;
    logic [A-1:0] place;  // Of the word that comes.
    logic [16:0]  checked;
    assign checked = {1'b0, came[15:0]} + 17'h0800;  // An echo reply's type is less by that.
    always_ff @(posedge clk) begin
        if (takes) begin
            case (place)
                A'(0): begin
                    to_us     <= came[15:0] == MAC[47:32];
                    broadcast <= &came[15:0];
                end
                A'(1): begin
                    to_us     <= to_us && came == MAC[31:0];
                    broadcast <= broadcast && &came;
                end
                A'(2): peer_mac[47:16] <= came;
                A'(3): {peer_mac[15:0], ether_type} <= came;
                A'(4): begin
                    arp_ok    <= came == 32'h0001_0800;
                    ip_ok     <= came[31:24] == 8'h45;
                    ip_length <= came[15:0];
                end
                A'(5): begin
                    arp_ok <= arp_ok && came == 32'h0604_0001;
                    ip_ok  <= ip_ok && came[13:0] == '0;  // No fragment.
                end
                A'(6): begin
                    udp_ok  <= came[23:16] == 8'd17;
                    echo_ok <= came[23:16] == 8'd1;
                end
                A'(7): peer_ip <= ether_type == 16'h0806 ? {came[15:0], 16'd0} : came;
                A'(8): begin
                    if (ether_type == 16'h0806) peer_ip[15:0] <= came[31:16];
                    to_ip <= came == IP;
                end
                A'(9): begin
                    peer_port <= came[31:16];
                    udp_ok    <= udp_ok && came[15:0] == PORT;
                    echo_ok   <= echo_ok && came[31:16] == 16'h0800;
                    check     <= checked[15:0] + {15'd0, checked[16]};
                end
                A'(10): begin
                    arp_ok     <= arp_ok && came == IP;
                    udp_length <= came[31:16];
                end
                A'(11): begin
                    magic_ok <= came[31:12] == 20'h4e6f1 && came[6] && came[2];
                    probes   <= came[8];
                end
                default: ;
            endcase
        end
    end

    logic [A-1:0] length;  // Words of the payload's end.
    logic [7:0]   writes, reads;
    logic [31:0]  base;
    logic         stays;  // All writes go to one address.
    logic [A-1:0] answer;  // The end of the answer.
    logic         more;
    assign more = from < length;

    // Sending.
    logic [A-1:0]  row;
    logic [15:0]   bytes_left, held;
    logic [31:0]   formed;
    logic [19:0]   sum;
    logic [16:0]   folded;
    assign folded = {1'b0, sum[15:0]} + {13'd0, sum[19:16]};
    logic [15:0]   ip_check, total;
    assign total = kind == ECHO ? ip_length : 16'd28 + {5'd0, answer - A'(ETHERBONE), 2'd0};
    always_comb begin
        case (row)
            A'(0): formed = {16'd0, peer_mac[47:32]};
            A'(1): formed = peer_mac[31:0];
            A'(2): formed = MAC[47:16];
            A'(3): formed = {MAC[15:0], ether_type};
            default: formed = word;
        endcase
        if (kind == ARP) begin
            case (row)
                A'(5): formed = 32'h0604_0002;
                A'(6): formed = MAC[47:16];
                A'(7): formed = {MAC[15:0], IP[31:16]};
                A'(8): formed = {IP[15:0], peer_mac[47:32]};
                A'(9): formed = peer_mac[31:0];
                A'(10): formed = peer_ip;
                default: ;
            endcase
        end else begin
            case (row)
                A'(4): formed = {16'h4500, total};
                A'(5): formed = 32'h0000_4000;
                A'(6): formed = {8'd64, kind == ECHO ? 8'd1 : 8'd17, ip_check};
                A'(7): formed = IP;
                A'(8): formed = peer_ip;
                A'(9): formed = kind == ECHO ? {16'd0, check} : {PORT, peer_port};
                A'(10): if (kind == ACCESS) formed = {total - 16'd20, 16'd0};
                A'(11): if (kind == ACCESS) formed = {16'h4e6f, 6'd4, probes, 1'b0, 8'h44};
                A'(12): if (kind == ACCESS) formed = '0;
                default: ;
            endcase
        end
    end

    assign out_valid = state == SEND && row != '0;
    assign out_data  = {formed[23:16], formed[31:24], held[7:0], held[15:8]};
    assign out_last  = bytes_left <= 16'd4;
    assign out_rest  = out_last ? 2'(bytes_left - 1'b1) : 2'd3;
    assign bus_wr_en = state == WRITE;
    assign bus_rd_en = state == READ;

    always_comb begin
        put      = takes || state == FLUSH;
        to       = place;
        put_word = came;
        if (state == TAKE && part == HEADER) begin
            put      = word[7:0] != '0;
            to       = answer;
            put_word = {16'h000f, word[7:0], 8'd0};
        end
        if (state == TAKE && part == READ_BASE) begin
            put      = 1'b1;
            to       = answer;
            put_word = word;
        end
        if (state == READ && bus_rd_valid) begin
            put      = 1'b1;
            to       = answer;
            put_word = bus_rd_data;
        end
    end

    always_ff @(posedge clk) begin
        case (state)
            RECEIVE:
            if (takes) begin
                half  <= bytes[15:0];
                place <= place + 1'b1;
                if (&place) overlong <= 1'b1;
                if (in_last) state <= FLUSH;
            end
            FLUSH: begin
                place <= place + 1'b1;
                state <= DECIDE;
            end
            DECIDE: begin
                state    <= RECEIVE;
                place    <= '0;
                overlong <= 1'b0;
                from     <= A'(RECORDS);
                answer   <= A'(RECORDS);
                part     <= HEADER;
                row      <= '0;
                length   <= A'(UDP) + A'(udp_length >> 2);
                if (!overlong && ether_type == 16'h0806 && (broadcast || to_us) && arp_ok) begin
                    kind       <= ARP;
                    bytes_left <= 16'd42;
                    state      <= LOAD;
                end else if (!overlong && ether_type == 16'h0800 && to_us && ip_ok && to_ip) begin
                    if (echo_ok && ip_length >= 16'd28 && A'((ip_length + 16'd19) >> 2) <= place && ip_length < 16'(4 * WORDS - 64)) begin
                        kind  <= ECHO;
                        state <= SUM;
                    end else if (udp_ok && magic_ok && udp_length >= 16'd16 && udp_length[1:0] == 2'd0 &&
                                 ip_length == udp_length + 16'd20 && A'(UDP) + A'(udp_length >> 2) <= place &&
                                 udp_length < 16'(4 * WORDS - 64)) begin
                        kind  <= ACCESS;
                        state <= FETCH;
                        if (probes) begin
                            answer <= A'(UDP) + A'(udp_length >> 2);
                            state  <= SUM;
                        end
                    end
                end
            end
            FETCH: state <= more ? TAKE : answer == A'(RECORDS) ? RECEIVE : SUM;
            TAKE: begin
                from  <= from + 1'b1;
                state <= FETCH;
                case (part)
                    HEADER: begin
                        {writes, reads} <= word[15:0];
                        stays           <= word[30];
                        if (word[7:0] != '0) answer <= answer + 1'b1;
                        if (word[15:8] != '0) part <= WRITE_BASE;
                        else if (word[7:0] != '0) part <= READ_BASE;
                    end
                    WRITE_BASE: begin
                        base <= word;
                        part <= WRITE_DATA;
                    end
                    WRITE_DATA: begin
                        bus_wr_addr <= base;
                        bus_wr_data <= word;
                        if (!stays) base <= base + 32'd4;
                        writes      <= writes - 1'b1;
                        state       <= WRITE;
                        if (writes == 8'd1) part <= reads != '0 ? READ_BASE : HEADER;
                    end
                    READ_BASE: begin
                        answer <= answer + 1'b1;
                        part   <= READ_ADDRESS;
                    end
                    default: begin
                        bus_rd_addr <= word;
                        reads       <= reads - 1'b1;
                        state       <= READ;
                        if (reads == 8'd1) part <= HEADER;
                    end
                endcase
            end
            WRITE: if (bus_wr_ready) state <= WRITTEN;
            WRITTEN: if (bus_wr_ready) state <= FETCH;
            READ:
            if (bus_rd_valid) begin
                answer <= answer + 1'b1;
                state  <= FETCH;
            end
            SUM: begin
                sum <= 20'h4500 + 20'h4000 + {4'd0, 8'd64, kind == ECHO ? 8'd1 : 8'd17} + {4'd0, total} + {4'd0, IP[31:16]} +
                    {4'd0, IP[15:0]} + {4'd0, peer_ip[31:16]} + {4'd0, peer_ip[15:0]};
                bytes_left <= total + 16'd14;
                state      <= FOLD;
            end
            FOLD: begin
                ip_check <= ~(folded[15:0] + {15'd0, folded[16]});
                state    <= LOAD;
            end
            LOAD: begin
                from  <= row;
                state <= FORM;
            end
            FORM: state <= SEND;
            // Of the first word only two bytes belong to the frame.
            SEND:
            if (row == '0 || out_ready) begin
                held  <= formed[15:0];
                row   <= row + 1'b1;
                state <= LOAD;
                if (row != '0) begin
                    bytes_left <= bytes_left - 16'd4;
                    if (out_last) state <= RECEIVE;
                end
            end
            default: state <= RECEIVE;
        endcase
        if (rst) begin
            state    <= RECEIVE;
            place    <= '0;
            overlong <= 1'b0;
        end
    end
endmodule
