// `@NAME@` in Corundum's application block (https://github.com/corundum/corundum, `mqnic_app_block`): between the MACs and the
// queues of the host, at the `axis_sync` streams, with the register map at the application's AXI-Lite port. Ports have the
// names and widths of that module; an application block instantiates this one and connects them by name.
//
// The ports of the program are numbered: 0 to PORT_COUNT - 1 are the MACs, CPU_PORT is the host's first interface. Packets
// from the host's other interfaces are discarded, so are those to any other port. The streams share the bus of the design: one
// that is not ready delays the others. QUEUE_WORDS words from each MAC wait here: in front of them Corundum has 32, and what finds no room there
// makes its packet bad, which is dropped.
//
// What a MAC has said about the time of a packet goes to the host with it, unless the program repeats packets or
// computes checksums over payloads: then the time is zero.
//
// `in_now` is the time of the PTP clock in microseconds since 1970, if that clock is set.
module @NAME@_corundum #(
    parameter int PORT_COUNT = 2,
    parameter bit [8:0] CPU_PORT = 9'd510,
    parameter int QUEUE_WORDS = 512,
    parameter int PTP_TS_WIDTH = 96,
    parameter int TX_TAG_WIDTH = 16,
    parameter int AXIL_APP_CTRL_ADDR_WIDTH = 16,
    parameter int AXIS_SYNC_DATA_WIDTH = 8 * @BUS@,
    parameter int AXIS_SYNC_KEEP_WIDTH = AXIS_SYNC_DATA_WIDTH / 8,
    parameter int AXIS_SYNC_TX_USER_WIDTH = TX_TAG_WIDTH + 1,
    parameter int AXIS_SYNC_RX_USER_WIDTH = PTP_TS_WIDTH + 1
) (
    input  logic                                          clk,
    input  logic                                          rst,
    // The register map.
    input  logic [AXIL_APP_CTRL_ADDR_WIDTH-1:0]           s_axil_app_ctrl_awaddr,
    input  logic [2:0]                                    s_axil_app_ctrl_awprot,
    input  logic                                          s_axil_app_ctrl_awvalid,
    output logic                                          s_axil_app_ctrl_awready,
    input  logic [31:0]                                   s_axil_app_ctrl_wdata,
    input  logic [3:0]                                    s_axil_app_ctrl_wstrb,
    input  logic                                          s_axil_app_ctrl_wvalid,
    output logic                                          s_axil_app_ctrl_wready,
    output logic [1:0]                                    s_axil_app_ctrl_bresp,
    output logic                                          s_axil_app_ctrl_bvalid,
    input  logic                                          s_axil_app_ctrl_bready,
    input  logic [AXIL_APP_CTRL_ADDR_WIDTH-1:0]           s_axil_app_ctrl_araddr,
    input  logic [2:0]                                    s_axil_app_ctrl_arprot,
    input  logic                                          s_axil_app_ctrl_arvalid,
    output logic                                          s_axil_app_ctrl_arready,
    output logic [31:0]                                   s_axil_app_ctrl_rdata,
    output logic [1:0]                                    s_axil_app_ctrl_rresp,
    output logic                                          s_axil_app_ctrl_rvalid,
    input  logic                                          s_axil_app_ctrl_rready,
    // The time: 48 bits of seconds, 32 of nanoseconds, 16 of fractions.
    input  logic [PTP_TS_WIDTH-1:0]                       ptp_sync_ts_tod,
    // From the host.
    input  logic [PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:0]    s_axis_sync_tx_tdata,
    input  logic [PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:0]    s_axis_sync_tx_tkeep,
    input  logic [PORT_COUNT-1:0]                         s_axis_sync_tx_tvalid,
    output logic [PORT_COUNT-1:0]                         s_axis_sync_tx_tready,
    input  logic [PORT_COUNT-1:0]                         s_axis_sync_tx_tlast,
    input  logic [PORT_COUNT*AXIS_SYNC_TX_USER_WIDTH-1:0] s_axis_sync_tx_tuser,
    // To the MACs.
    output logic [PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:0]    m_axis_sync_tx_tdata,
    output logic [PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:0]    m_axis_sync_tx_tkeep,
    output logic [PORT_COUNT-1:0]                         m_axis_sync_tx_tvalid,
    input  logic [PORT_COUNT-1:0]                         m_axis_sync_tx_tready,
    output logic [PORT_COUNT-1:0]                         m_axis_sync_tx_tlast,
    output logic [PORT_COUNT*AXIS_SYNC_TX_USER_WIDTH-1:0] m_axis_sync_tx_tuser,
    // Completions: those of the MACs are of packets that the host does not know.
    input  logic [PORT_COUNT*PTP_TS_WIDTH-1:0]            s_axis_sync_tx_cpl_ts,
    input  logic [PORT_COUNT*TX_TAG_WIDTH-1:0]            s_axis_sync_tx_cpl_tag,
    input  logic [PORT_COUNT-1:0]                         s_axis_sync_tx_cpl_valid,
    output logic [PORT_COUNT-1:0]                         s_axis_sync_tx_cpl_ready,
    output logic [PORT_COUNT*PTP_TS_WIDTH-1:0]            m_axis_sync_tx_cpl_ts,
    output logic [PORT_COUNT*TX_TAG_WIDTH-1:0]            m_axis_sync_tx_cpl_tag,
    output logic [PORT_COUNT-1:0]                         m_axis_sync_tx_cpl_valid,
    input  logic [PORT_COUNT-1:0]                         m_axis_sync_tx_cpl_ready,
    // From the MACs.
    input  logic [PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:0]    s_axis_sync_rx_tdata,
    input  logic [PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:0]    s_axis_sync_rx_tkeep,
    input  logic [PORT_COUNT-1:0]                         s_axis_sync_rx_tvalid,
    output logic [PORT_COUNT-1:0]                         s_axis_sync_rx_tready,
    input  logic [PORT_COUNT-1:0]                         s_axis_sync_rx_tlast,
    input  logic [PORT_COUNT*AXIS_SYNC_RX_USER_WIDTH-1:0] s_axis_sync_rx_tuser,
    // To the host.
    output logic [PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:0]    m_axis_sync_rx_tdata,
    output logic [PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:0]    m_axis_sync_rx_tkeep,
    output logic [PORT_COUNT-1:0]                         m_axis_sync_rx_tvalid,
    input  logic [PORT_COUNT-1:0]                         m_axis_sync_rx_tready,
    output logic [PORT_COUNT-1:0]                         m_axis_sync_rx_tlast,
    output logic [PORT_COUNT*AXIS_SYNC_RX_USER_WIDTH-1:0] m_axis_sync_rx_tuser
);
    localparam int BUS_BYTES = @BUS@;
    localparam int BYTES_BITS = $clog2(BUS_BYTES) + 1;
    localparam int STREAMS = PORT_COUNT + 1;  // The host's first interface is the last one.
    localparam int STREAM_BITS = $clog2(STREAMS);
    // The time of a packet. Without it there is one bit, which is zero.
    localparam bit STAMPED = @STAMPED@ && AXIS_SYNC_RX_USER_WIDTH > 1;
    localparam int STAMP_BITS = STAMPED ? AXIS_SYNC_RX_USER_WIDTH - 1 : 1;
    localparam int WIDTH = STAMP_BITS + 8 * BUS_BYTES + BYTES_BITS + 1;

    // The number of bytes of a word; the lowest `keep` bits are set.
    function automatic logic [BYTES_BITS-1:0] bytes_of(input logic [BUS_BYTES-1:0] keep);
        bytes_of = '0;
        for (int i = 0; i < BUS_BYTES; i++) if (keep[i]) bytes_of = BYTES_BITS'(i + 1);
    endfunction

    // All streams into one.
    logic [STREAMS-1:0]       valid, ready, last;
    logic [STREAMS*WIDTH-1:0] words;
    generate
        for (genvar p = 0; p < PORT_COUNT; p++) begin : ports
            logic [STAMP_BITS-1:0] stamp;
            if (STAMPED) begin : stamped
                assign stamp = s_axis_sync_rx_tuser[p*AXIS_SYNC_RX_USER_WIDTH+1+:STAMP_BITS];
            end else begin : unstamped
                assign stamp = '0;
            end
            hw_fifo #(
                .WIDTH(WIDTH + 1),
                .DEPTH(QUEUE_WORDS)
            ) queue (
                .clk,
                .rst,
                .in_valid(s_axis_sync_rx_tvalid[p]),
                .in_ready(s_axis_sync_rx_tready[p]),
                .in_data({
                    s_axis_sync_rx_tlast[p],
                    stamp,
                    s_axis_sync_rx_tuser[p*AXIS_SYNC_RX_USER_WIDTH],
                    bytes_of(s_axis_sync_rx_tkeep[p*BUS_BYTES+:BUS_BYTES]),
                    s_axis_sync_rx_tdata[p*8*BUS_BYTES+:8*BUS_BYTES]
                }),
                .out_valid(valid[p]),
                .out_ready(ready[p]),
                .out_data({last[p], words[p*WIDTH+:WIDTH]})
            );
        end
    endgenerate
    // The host learns that a packet has left as soon as it is here.
    logic host_ready, room;
    assign valid[PORT_COUNT] = s_axis_sync_tx_tvalid[0] && room;
    assign last[PORT_COUNT]  = s_axis_sync_tx_tlast[0];
    assign words[PORT_COUNT*WIDTH+:WIDTH] = {
        STAMP_BITS'(0), s_axis_sync_tx_tuser[0], bytes_of(s_axis_sync_tx_tkeep[BUS_BYTES-1:0]), s_axis_sync_tx_tdata[8*BUS_BYTES-1:0]
    };
    assign host_ready = ready[PORT_COUNT] && room;
    generate
        for (genvar p = 0; p < PORT_COUNT; p++) begin : completions
            logic free;
            assign s_axis_sync_tx_tready[p] = p == 0 ? host_ready : free;
            hw_fifo #(
                .WIDTH(TX_TAG_WIDTH),
                .DEPTH(16)
            ) tags (
                .clk,
                .rst,
                .in_valid(s_axis_sync_tx_tvalid[p] && s_axis_sync_tx_tready[p] && s_axis_sync_tx_tlast[p]),
                .in_ready(free),
                .in_data(s_axis_sync_tx_tuser[p*AXIS_SYNC_TX_USER_WIDTH+1+:TX_TAG_WIDTH]),
                .out_valid(m_axis_sync_tx_cpl_valid[p]),
                .out_ready(m_axis_sync_tx_cpl_ready[p]),
                .out_data(m_axis_sync_tx_cpl_tag[p*TX_TAG_WIDTH+:TX_TAG_WIDTH])
            );
            if (p == 0) begin : first
                assign room = free;
            end
        end
    endgenerate
    assign m_axis_sync_tx_cpl_ts    = '0;
    assign s_axis_sync_tx_cpl_ready = '1;

    logic in_valid, in_ready, in_last;
    logic [WIDTH-1:0] in_word;
    logic [STREAM_BITS-1:0] in_stream;
    hw_arbiter #(
        .WIDTH(WIDTH),
        .PORTS(STREAMS)
    ) arbiter (
        .clk,
        .rst,
        .in_valid(valid),
        .in_ready(ready),
        .in_data(words),
        .in_last(last),
        .out_valid(in_valid),
        .out_ready(in_ready),
        .out_data(in_word),
        .out_last(in_last),
        .out_port(in_stream)
    );

    // Microseconds since 1970: nanoseconds are divided by 1000 by a multiplication.
    logic [47:0] seconds_us, seconds_us_q, now;
    logic [29:0] ns;
    logic [67:0] scaled;
    always_ff @(posedge clk) begin
        ns           <= ptp_sync_ts_tod[45:16];
        seconds_us   <= ptp_sync_ts_tod[95:48] * 48'd1000000;
        scaled       <= 68'(ns) * 68'd274877907;
        seconds_us_q <= seconds_us;
        now          <= seconds_us_q + 48'(scaled[67:38]);
    end

    logic bus_wr_en, bus_wr_ready, bus_rd_en, bus_rd_valid;
    logic [15:0] bus_wr_addr, bus_rd_addr;
    logic [31:0] bus_wr_data, bus_rd_data;
    hw_axil #(
        .ADDR_BITS(16)
    ) registers (
        .clk,
        .rst,
        .awvalid(s_axil_app_ctrl_awvalid),
        .awready(s_axil_app_ctrl_awready),
        .awaddr(s_axil_app_ctrl_awaddr[15:0]),
        .wvalid(s_axil_app_ctrl_wvalid),
        .wready(s_axil_app_ctrl_wready),
        .wdata(s_axil_app_ctrl_wdata),
        .wstrb(s_axil_app_ctrl_wstrb),
        .bvalid(s_axil_app_ctrl_bvalid),
        .bready(s_axil_app_ctrl_bready),
        .bresp(s_axil_app_ctrl_bresp),
        .arvalid(s_axil_app_ctrl_arvalid),
        .arready(s_axil_app_ctrl_arready),
        .araddr(s_axil_app_ctrl_araddr[15:0]),
        .rvalid(s_axil_app_ctrl_rvalid),
        .rready(s_axil_app_ctrl_rready),
        .rdata(s_axil_app_ctrl_rdata),
        .rresp(s_axil_app_ctrl_rresp),
        .bus_wr_en,
        .bus_wr_ready,
        .bus_wr_addr,
        .bus_wr_data,
        .bus_rd_en,
        .bus_rd_valid,
        .bus_rd_addr,
        .bus_rd_data
    );

    logic out_valid, out_ready, out_last;
    logic [8*BUS_BYTES-1:0] out_data;
    logic [BYTES_BITS-1:0] out_bytes;
    logic [8:0] out_port;
    logic in_dropped, verdict, verdict_sends, verdict_last;
    @NAME@ core (
        .clk,
        .rst,
        .in_valid,
        .in_ready,
        .in_data(in_word[8*BUS_BYTES-1:0]),
        .in_bytes(in_word[8*BUS_BYTES+:BYTES_BITS]),
        .in_last,
        .in_bad(in_word[8*BUS_BYTES+BYTES_BITS]),
        .in_port(in_stream == STREAM_BITS'(PORT_COUNT) ? CPU_PORT : 9'(in_stream)),
        .in_now(now),
        .in_dropped,
        .verdict,
        .verdict_sends,
        .verdict_last,
        .out_valid,
        .out_ready,
        .out_data,
        .out_bytes,
        .out_last,
        .out_port,
        .bus_wr_en,
        .bus_wr_ready,
        .bus_wr_addr,
        .bus_wr_data,
        .bus_rd_en,
        .bus_rd_addr,
        .bus_rd_valid,
        .bus_rd_data
    );

    // The times of the packets inside, one for each, and of the copies that leave, in their order.
    logic [AXIS_SYNC_RX_USER_WIDTH-1:0] out_user;
    generate
        if (STAMPED) begin : stamps
            logic came, known, has_room, leaves_known, leaves_room;
            logic [STAMP_BITS-1:0] came_at, held, leaving;
            always_ff @(posedge clk) begin
                came    <= !rst && in_valid && in_ready && in_last;
                came_at <= in_word[WIDTH-1-:STAMP_BITS];
            end
            hw_fifo #(
                .WIDTH(STAMP_BITS),
                .DEPTH(@PACKETS@),
                .ROOM(1'b1)
            ) packets (
                .clk,
                .rst,
                .in_valid(came && !in_dropped),
                .in_ready(has_room),
                .in_data(came_at),
                .out_valid(known),
                .out_ready(verdict && verdict_last),
                .out_data(held)
            );
            hw_fifo #(
                .WIDTH(STAMP_BITS),
                .DEPTH(@COPIES@),
                .ROOM(1'b1)
            ) copies (
                .clk,
                .rst,
                .in_valid(verdict && verdict_sends),
                .in_ready(leaves_room),
                .in_data(held),
                .out_valid(leaves_known),
                .out_ready(out_valid && out_ready && out_last),
                .out_data(leaving)
            );
            assign out_user = {leaving, 1'b0};
            logic unused_stamps;
            assign unused_stamps = &{1'b0, known, has_room, leaves_known, leaves_room};
        end else begin : no_stamps
            assign out_user = '0;
        end
    endgenerate

    // To the stream of the port; what goes nowhere is taken at once.
    logic [BUS_BYTES-1:0] keep;
    logic [STREAMS-1:0] chosen, takes;
    assign keep = ~('1 << out_bytes);
    assign takes = {m_axis_sync_rx_tready[0], m_axis_sync_tx_tready};
    assign out_ready = chosen == '0 || |(chosen & takes);
    generate
        for (genvar p = 0; p < PORT_COUNT; p++) begin : egress
            assign chosen[p] = out_port == 9'(p);
            assign m_axis_sync_tx_tvalid[p] = out_valid && chosen[p];
            assign m_axis_sync_rx_tvalid[p] = p == 0 && out_valid && chosen[PORT_COUNT];
        end
    endgenerate
    assign chosen[PORT_COUNT]   = out_port == CPU_PORT;
    assign m_axis_sync_tx_tdata = {PORT_COUNT{out_data}};
    assign m_axis_sync_tx_tkeep = {PORT_COUNT{keep}};
    assign m_axis_sync_tx_tlast = {PORT_COUNT{out_last}};
    assign m_axis_sync_tx_tuser = '0;
    assign m_axis_sync_rx_tdata = {PORT_COUNT{out_data}};
    assign m_axis_sync_rx_tkeep = {PORT_COUNT{keep}};
    assign m_axis_sync_rx_tlast = {PORT_COUNT{out_last}};
    assign m_axis_sync_rx_tuser = {PORT_COUNT{out_user}};

    logic unused;
    assign unused = &{
        1'b0, s_axil_app_ctrl_awprot, s_axil_app_ctrl_arprot, s_axil_app_ctrl_awaddr, s_axil_app_ctrl_araddr, ptp_sync_ts_tod,
        s_axis_sync_tx_cpl_ts, s_axis_sync_tx_cpl_tag, s_axis_sync_tx_cpl_valid, s_axis_sync_rx_tuser, s_axis_sync_tx_tuser,
        s_axis_sync_tx_tdata, s_axis_sync_tx_tkeep, m_axis_sync_rx_tready, in_dropped, verdict, verdict_sends, verdict_last,
        in_word, scaled
    };
endmodule
