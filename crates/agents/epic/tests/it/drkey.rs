//! Keys are those of the reference implementation (`pkg/drkey/specific`, v0.14.0): values computed with it.

use hopwright_epic::{Host, Key, drkey};

#[test]
fn keys_are_the_references() {
    let secret = Key::from(std::array::from_fn(|i| i as u8));
    let host = |text: &str| Host(text.parse().unwrap());
    let as_as = drkey::as_as(&secret, "1-ff00:0:112".parse().unwrap());
    let host_as = drkey::host_as(&as_as, &host("10.0.0.1"));
    let hex = |key: &Key| format!("{:032x}", u128::from_be_bytes(*key.bytes()));
    assert_eq!(hex(&as_as), "070a3a9f02f495ac74810c2cfd3d4990");
    assert_eq!(hex(&host_as), "1d5306f20314f08b6edf262b3881406a");
    for (address, as_host, host_host) in [
        ("10.0.0.100", "543d66b26ca688a4daf9eb16d00002ef", "b27632e562dd6f41fb2553e14fc7928a"),
        ("2001:db8::68", "8a7988da737681affc131456b4743c36", "52f44142c490f6863d10afcf8bff729a"),
    ] {
        assert_eq!(hex(&drkey::as_host(&as_as, &host(address))), as_host);
        assert_eq!(hex(&drkey::host_host(&host_as, &host(address))), host_host);
    }
}
