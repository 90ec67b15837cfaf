// `@NAME@` on the board @BOARD@: its pins, clocks and resets.
module @NAME@_top (
    input  logic @CLOCK@,
@PINS@
);
    localparam int PORTS = @PORTS@;

    // @CLOCK_MHZ@ MHz in, 125 MHz for what is sent, and the core's clock.
    logic clk, tx_clk, locked;
    (* FREQUENCY_PIN_CLKI = "@CLOCK_MHZ@", FREQUENCY_PIN_CLKOP = "125", FREQUENCY_PIN_CLKOS = "@CORE_MHZ@", ICP_CURRENT = "12",
       LPF_RESISTOR = "8", MFG_ENABLE_FILTEROPAMP = "1", MFG_GMCREF_SEL = "2" *)
    EHXPLLL #(
        .PLLRST_ENA("DISABLED"),
        .INTFB_WAKE("DISABLED"),
        .STDBY_ENABLE("DISABLED"),
        .DPHASE_SOURCE("DISABLED"),
        .OUTDIVIDER_MUXA("DIVA"),
        .OUTDIVIDER_MUXB("DIVB"),
        .OUTDIVIDER_MUXC("DIVC"),
        .OUTDIVIDER_MUXD("DIVD"),
        .CLKI_DIV(@CLKI_DIV@),
        .CLKFB_DIV(@CLKFB_DIV@),
        .CLKOP_ENABLE("ENABLED"),
        .CLKOP_DIV(5),
        .CLKOP_CPHASE(2),
        .CLKOP_FPHASE(0),
        .CLKOS_ENABLE("ENABLED"),
        .CLKOS_DIV(@CORE_DIV@),
        .CLKOS_CPHASE(2),
        .CLKOS_FPHASE(0),
        .FEEDBK_PATH("CLKOP")
    ) pll (
        .RST(1'b0),
        .STDBY(1'b0),
        .CLKI(@CLOCK@),
        .CLKOP(tx_clk),
        .CLKOS(clk),
        .CLKFB(tx_clk),
        .PHASESEL0(1'b0),
        .PHASESEL1(1'b0),
        .PHASEDIR(1'b1),
        .PHASESTEP(1'b1),
        .PHASELOADREG(1'b1),
        .PLLWAKESYNC(1'b0),
        .ENCLKOP(1'b0),
        .LOCK(locked)
    );

    // The core begins when the PLL has been stable for some time, the PHYs when they have been in reset for 20 ms.
    logic [1:0]  stable = '0;
    logic [21:0] since = '0;
    logic        rst = 1'b1, phy_rst_n = 1'b0;
    always_ff @(posedge clk) begin
        stable <= {stable[0], locked};
        if (!stable[1]) since <= '0;
        else if (!since[21]) since <= since + 1'b1;
        rst       <= !(stable[1] && since >= 22'd255);
        phy_rst_n <= since[21];
    end

    logic [PORTS-1:0]   rx_clk, rx_dv, rx_er, tx_en;
    logic [8*PORTS-1:0] rxd, txd;
    @NAME@_board board (
        .clk,
        .rst,
        .tx_clk,
        .rx_clk,
        .rxd,
        .rx_dv,
        .rx_er,
        .txd,
        .tx_en
    );
@PHYS@
endmodule
