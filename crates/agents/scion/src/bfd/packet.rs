//! Encodes and decodes BFD control packets (RFC 5880, section 4.1), which have 24 bytes.

use super::machine::State;

/// A control packet without authentication, as asynchronous sessions without options exchange it. As in the reference,
/// flags are clear and the diagnostic code is 0 in packets sent, and a received diagnostic is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The sender's state.
    pub state: State,
    /// Detection multiplier: after this many intervals without a packet, the receiver declares the sender lost. Not 0.
    pub detect_mult: u8,
    /// The sender's discriminator for the session; not 0.
    pub my_discriminator: u32,
    /// The receiver's discriminator as known to the sender; 0 if unknown.
    pub your_discriminator: u32,
    /// The interval at which the sender would like to send, in microseconds.
    pub desired_min_tx_us: u32,
    /// The shortest interval at which the sender can receive, in microseconds.
    pub required_min_rx_us: u32,
}

/// The reason to discard a control packet (RFC 5880, section 6.8.6). As in the reference, authentication, poll
/// sequences, demand mode and the echo function are not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum Invalid {
    #[error("length is not 24, or not that of what carries it")]
    Length,
    #[error("version is not 1")]
    Version,
    #[error("detection multiplier is 0")]
    DetectMult,
    #[error("multipoint bit is set")]
    Multipoint,
    #[error("sender's discriminator is 0")]
    MyDiscriminator,
    #[error("receiver's discriminator is 0, but the state is Init or Up")]
    YourDiscriminator,
    #[error("authentication is not supported")]
    Authentication,
    #[error("poll sequences are not supported")]
    Poll,
    #[error("demand mode is not supported")]
    Demand,
    #[error("the echo function is not supported")]
    Echo,
}

const POLL: u8 = 0x20;
const FINAL: u8 = 0x10;
const AUTHENTICATION: u8 = 0x04;
const DEMAND: u8 = 0x02;
const MULTIPOINT: u8 = 0x01;

impl Control {
    /// The length of a packet in bytes.
    pub const BYTES: usize = 24;

    /// Encodes the packet.
    pub fn encode(&self) -> [u8; Control::BYTES] {
        let mut out = [0; Control::BYTES];
        out[0] = 1 << 5;
        out[1] = (self.state as u8) << 6;
        out[2] = self.detect_mult;
        out[3] = Control::BYTES as u8;
        out[4..8].copy_from_slice(&self.my_discriminator.to_be_bytes());
        out[8..12].copy_from_slice(&self.your_discriminator.to_be_bytes());
        out[12..16].copy_from_slice(&self.desired_min_tx_us.to_be_bytes());
        out[16..20].copy_from_slice(&self.required_min_rx_us.to_be_bytes());
        out
    }

    /// Decodes a packet, or returns why it must be discarded.
    pub fn decode(bytes: &[u8]) -> Result<Control, Invalid> {
        let fixed: &[u8; Control::BYTES] = bytes.first_chunk().ok_or(Invalid::Length)?;
        let word = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let (version, flags, length) = (fixed[0] >> 5, fixed[1], usize::from(fixed[3]));
        let packet = Control {
            state: State::from_bits(flags >> 6),
            detect_mult: fixed[2],
            my_discriminator: word(4),
            your_discriminator: word(8),
            desired_min_tx_us: word(12),
            required_min_rx_us: word(16),
        };
        let echo_us = word(20);
        let fault = [
            (version != 1, Invalid::Version),
            (length != bytes.len(), Invalid::Length),
            (packet.detect_mult == 0, Invalid::DetectMult),
            (flags & MULTIPOINT != 0, Invalid::Multipoint),
            (packet.my_discriminator == 0, Invalid::MyDiscriminator),
            (
                packet.your_discriminator == 0 && matches!(packet.state, State::Init | State::Up),
                Invalid::YourDiscriminator,
            ),
            (flags & AUTHENTICATION != 0, Invalid::Authentication),
            // Only authentication may follow the fixed part.
            (length != Control::BYTES, Invalid::Length),
            (flags & (POLL | FINAL) != 0, Invalid::Poll),
            (echo_us != 0, Invalid::Echo),
            (flags & DEMAND != 0, Invalid::Demand),
        ];
        match fault.iter().find(|(present, _)| *present) {
            Some((_, why)) => Err(*why),
            None => Ok(packet),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Control = Control {
        state: State::Init,
        detect_mult: 3,
        my_discriminator: 0x0102_0304,
        your_discriminator: 12345,
        desired_min_tx_us: 200_000,
        required_min_rx_us: 1_000_000,
    };

    #[test]
    fn bytes_of_a_packet() {
        let bytes =
            [0x20, 0x80, 3, 24, 1, 2, 3, 4, 0, 0, 0x30, 0x39, 0, 3, 0x0d, 0x40, 0, 0x0f, 0x42, 0x40, 0, 0, 0, 0];
        assert_eq!(PACKET.encode(), bytes);
        assert_eq!(Control::decode(&bytes), Ok(PACKET));
        // A diagnostic code and the control-plane-independent bit are ignored.
        let mut other = bytes;
        other[0] |= 0x07;
        other[1] |= 0x08;
        assert_eq!(Control::decode(&other), Ok(PACKET));
    }

    #[test]
    fn every_reason_to_discard() {
        let good = PACKET.encode();
        let with = |at: usize, value: u8| {
            let mut bytes = good;
            bytes[at] = value;
            Control::decode(&bytes)
        };
        assert_eq!(with(0, 0x00), Err(Invalid::Version));
        assert_eq!(with(0, 0x40), Err(Invalid::Version));
        assert_eq!(with(3, 23), Err(Invalid::Length));
        assert_eq!(with(3, 25), Err(Invalid::Length));
        assert_eq!(with(2, 0), Err(Invalid::DetectMult));
        for (flag, why) in [
            (0x20, Invalid::Poll),
            (0x10, Invalid::Poll),
            (0x04, Invalid::Authentication),
            (0x02, Invalid::Demand),
            (0x01, Invalid::Multipoint),
        ] {
            assert_eq!(with(1, 0x80 | flag), Err(why));
        }
        assert_eq!(with(23, 1), Err(Invalid::Echo));
        assert_eq!(Control::decode(&Control { my_discriminator: 0, ..PACKET }.encode()), Err(Invalid::MyDiscriminator));
        for (state, good) in [(State::AdminDown, true), (State::Down, true), (State::Init, false), (State::Up, false)] {
            let packet = Control { state, your_discriminator: 0, ..PACKET };
            assert_eq!(
                Control::decode(&packet.encode()),
                if good { Ok(packet) } else { Err(Invalid::YourDiscriminator) }
            );
        }
        for length in 0..24 {
            assert_eq!(Control::decode(&good[..length]), Err(Invalid::Length));
        }
        let mut longer = good.to_vec();
        longer.push(0);
        assert_eq!(Control::decode(&longer), Err(Invalid::Length));
        longer[3] = 25;
        assert_eq!(Control::decode(&longer), Err(Invalid::Length));
    }
}
