//! The state machine of a BFD session (RFC 5880, section 6.2) as a pure function.
//!
//! ```text
//!                             +--+
//!                             |  | Up, AdminDown, Expired
//!                             |  V
//!                     Down  +------+  Init
//!              +------------| Down |------------+
//!              |  +-------->|      |<--------+  |
//!              |  |         +------+         |  |
//!              |  | AdminDown,    AdminDown, |  |
//!              |  | Expired   Down, Expired  |  |
//!              V  |                          |  V
//!            +------+    Init, Up         +------+
//!       +----| Init |-------------------->|  Up  |----+
//!   Down|    |      |                     |      |    | Init, Up
//!       +--->+------+                     +------+<---+
//! ```
//!
//! There is one difference from the reference. When the reference hears that the other end is AdminDown, it goes to
//! AdminDown itself and never leaves that state. Here, as in the RFC, the session goes Down, and comes up again when
//! the other end does. This router never sends AdminDown, which would end a reference router's session for good.

/// The state of a session, as encoded in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// The session is held down by its operator. Sessions of this router are never in this state.
    AdminDown = 0,
    /// Nothing is heard from the other end, or it has lost contact with us.
    Down = 1,
    /// The other end is heard, but does not hear us yet.
    Init = 2,
    /// Both ends hear each other.
    Up = 3,
}

impl State {
    /// Decodes the lowest two bits.
    pub fn from_bits(bits: u8) -> State {
        match bits & 3 {
            0 => State::AdminDown,
            1 => State::Down,
            2 => State::Init,
            _ => State::Up,
        }
    }
}

/// An event of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet with the other end's state has been received.
    Heard(State),
    /// No packet has been received for the detection time.
    Expired,
}

/// What a change of state requires the caller to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Tell the other end soon, without waiting for the next periodic packet.
    Announce,
    /// The link came up.
    LinkUp,
    /// The link went down.
    LinkDown,
    /// Forget the other end's discriminator: it may have restarted.
    ForgetRemote,
}

/// Returns the state after an event, and what to do about it.
pub fn step(state: State, event: Event) -> (State, &'static [Action]) {
    use Action::{Announce, ForgetRemote, LinkDown, LinkUp};
    use Event::{Expired, Heard};
    use State::{AdminDown, Down, Init, Up};
    match (state, event) {
        (AdminDown, _) => (AdminDown, &[]),

        (Down, Heard(Down)) => (Init, &[Announce]),
        (Down, Heard(Init)) => (Up, &[LinkUp, Announce]),
        (Down, Heard(Up | AdminDown)) => (Down, &[]),
        (Down, Expired) => (Down, &[ForgetRemote]),

        (Init, Heard(Down)) => (Init, &[]),
        (Init, Heard(Init | Up)) => (Up, &[LinkUp, Announce]),
        (Init, Heard(AdminDown)) => (Down, &[Announce]),
        (Init, Expired) => (Down, &[Announce, ForgetRemote]),

        (Up, Heard(Init | Up)) => (Up, &[]),
        (Up, Heard(Down | AdminDown)) => (Down, &[LinkDown, Announce]),
        (Up, Expired) => (Down, &[LinkDown, Announce, ForgetRemote]),
    }
}

#[cfg(test)]
mod tests {
    use super::Action::{Announce, ForgetRemote, LinkDown, LinkUp};
    use super::Event::{Expired, Heard};
    use super::State::{AdminDown, Down, Init, Up};
    use super::*;

    const STATES: [State; 4] = [AdminDown, Down, Init, Up];
    const EVENTS: [Event; 5] = [Heard(AdminDown), Heard(Down), Heard(Init), Heard(Up), Expired];

    #[test]
    fn the_whole_table() {
        // Rows are states, columns are events, both in the order above.
        let next = [
            [AdminDown, AdminDown, AdminDown, AdminDown, AdminDown],
            [Down, Init, Up, Down, Down],
            [Down, Init, Up, Up, Down],
            [Down, Down, Up, Up, Down],
        ];
        for (row, state) in STATES.into_iter().enumerate() {
            for (column, event) in EVENTS.into_iter().enumerate() {
                let (after, actions) = step(state, event);
                assert_eq!(after, next[row][column], "{state:?} {event:?}");
                // Exactly the changes are announced, and the link follows the state Up.
                let has = |action| actions.contains(&action);
                assert_eq!(has(Announce), after != state, "{state:?} {event:?}");
                assert_eq!(has(LinkUp), state != Up && after == Up, "{state:?} {event:?}");
                assert_eq!(has(LinkDown), state == Up && after != Up, "{state:?} {event:?}");
                assert_eq!(has(ForgetRemote), event == Expired && state != AdminDown, "{state:?} {event:?}");
            }
        }
    }

    #[test]
    fn states_on_the_wire() {
        for (bits, state) in STATES.into_iter().enumerate() {
            assert_eq!(State::from_bits(bits as u8), state);
            assert_eq!(state as usize, bits);
        }
    }
}
