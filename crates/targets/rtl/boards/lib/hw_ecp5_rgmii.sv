// RGMII of 1 Gbit/s at the pins of an ECP5. Delays are in steps of 25 ps.
module hw_ecp5_rgmii #(
    parameter int RX_DELAY = 0,  // Of data against the clock.
    parameter int TX_DELAY = 0   // Of the clock against data.
) (
    input  logic       rgmii_rx_clk,
    input  logic       rgmii_rx_ctl,
    input  logic [3:0] rgmii_rx_data,
    output logic       rgmii_tx_clk,
    output logic       rgmii_tx_ctl,
    output logic [3:0] rgmii_tx_data,
    output logic       rx_clk,
    output logic [7:0] rxd,
    output logic       rx_dv,
    output logic       rx_er,
    input  logic       tx_clk,
    input  logic [7:0] txd,
    input  logic       tx_en
);
    assign rx_clk = rgmii_rx_clk;

    // The lower half comes with the rising edge, the upper one with the falling edge. The control line has `rx_dv`, and `rx_dv` ^ `rx_er`.
    logic [4:0] in, delayed, rising, falling;
    assign in = {rgmii_rx_ctl, rgmii_rx_data};
    logic [4:0] first, second, out;
    generate
        for (genvar i = 0; i < 5; i++) begin : lines
            DELAYG #(
                .DEL_MODE("SCLK_ALIGNED"),
                .DEL_VALUE(RX_DELAY)
            ) late (
                .A(in[i]),
                .Z(delayed[i])
            );
            IDDRX1F read (
                .D(delayed[i]),
                .SCLK(rx_clk),
                .RST(1'b0),
                .Q0(rising[i]),
                .Q1(falling[i])
            );
            ODDRX1F write (
                .D0(first[i]),
                .D1(second[i]),
                .SCLK(tx_clk),
                .RST(1'b0),
                .Q(out[i])
            );
        end
    endgenerate
    always_ff @(posedge rx_clk) begin
        rxd   <= {falling[3:0], rising[3:0]};
        rx_dv <= rising[4];
        rx_er <= rising[4] ^ falling[4];
    end
    always_ff @(posedge tx_clk) begin
        first  <= {tx_en, txd[3:0]};
        second <= {tx_en, txd[7:4]};
    end
    assign {rgmii_tx_ctl, rgmii_tx_data} = out;

    logic clock;
    ODDRX1F toggle (
        .D0(1'b1),
        .D1(1'b0),
        .SCLK(tx_clk),
        .RST(1'b0),
        .Q(clock)
    );
    DELAYG #(
        .DEL_MODE("SCLK_ALIGNED"),
        .DEL_VALUE(TX_DELAY)
    ) late (
        .A(clock),
        .Z(rgmii_tx_clk)
    );
endmodule
