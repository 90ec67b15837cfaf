// AXI-Lite subordinate to a register bus. One access at a time in each direction.
//
// `bus_wr_en` is high with address and data until `bus_wr_ready`; `bus_rd_en` with the address until `bus_rd_valid`, which comes with
// `bus_rd_data`. Addresses are of bytes, data have 32 bits. A write whose strobes are not all ones is answered with SLVERR and
// does nothing.
module hw_axil #(
    parameter int ADDR_BITS = 16
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic                 awvalid,
    output logic                 awready,
    input  logic [ADDR_BITS-1:0] awaddr,
    input  logic                 wvalid,
    output logic                 wready,
    input  logic [31:0]          wdata,
    input  logic [3:0]           wstrb,
    output logic                 bvalid,
    input  logic                 bready,
    output logic [1:0]           bresp,
    input  logic                 arvalid,
    output logic                 arready,
    input  logic [ADDR_BITS-1:0] araddr,
    output logic                 rvalid,
    input  logic                 rready,
    output logic [31:0]          rdata,
    output logic [1:0]           rresp,
    output logic                 bus_wr_en,
    input  logic                 bus_wr_ready,
    output logic [ADDR_BITS-1:0] bus_wr_addr,
    output logic [31:0]          bus_wr_data,
    output logic                 bus_rd_en,
    input  logic                 bus_rd_valid,
    output logic [ADDR_BITS-1:0] bus_rd_addr,
    input  logic [31:0]          bus_rd_data
);
    // Address and data of a write come in any order. `awready` and `wready` say that the place for them is free.
    logic whole;
    assign bus_wr_en = !awready && !wready && whole && !bvalid;
    assign bresp     = whole ? 2'b00 : 2'b10;
    always_ff @(posedge clk) begin
        if (rst) begin
            awready <= 1'b1;
            wready  <= 1'b1;
            bvalid  <= 1'b0;
        end else if (bvalid) begin
            if (bready) begin
                awready <= 1'b1;
                wready  <= 1'b1;
                bvalid  <= 1'b0;
            end
        end else begin
            if (awvalid) awready <= 1'b0;
            if (wvalid) wready <= 1'b0;
            if (!awready && !wready && (!whole || bus_wr_ready)) bvalid <= 1'b1;
        end
        if (awready) bus_wr_addr <= awaddr;
        if (wready) begin
            bus_wr_data <= wdata;
            whole       <= &wstrb;
        end
    end

    assign rresp = 2'b00;
    always_ff @(posedge clk) begin
        if (rst) begin
            arready   <= 1'b1;
            bus_rd_en <= 1'b0;
            rvalid    <= 1'b0;
        end else if (arready) begin
            arready   <= !arvalid;
            bus_rd_en <= arvalid;
        end else if (bus_rd_en) begin
            bus_rd_en <= !bus_rd_valid;
            rvalid    <= bus_rd_valid;
        end else if (rready) begin
            rvalid  <= 1'b0;
            arready <= 1'b1;
        end
        if (arready) bus_rd_addr <= araddr;
        if (bus_rd_en) rdata <= bus_rd_data;
    end
endmodule
