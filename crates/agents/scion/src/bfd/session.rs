//! One BFD session: the state machine with its timers. It has no clock and no I/O: the caller passes the time and
//! received packets, and sends the packets that the session returns.
//!
//! Timers follow RFC 5880, sections 6.8.2 to 6.8.4 and 6.8.7, with the reference's choices: packets are sent once per
//! second while Down, and at the configured interval as soon as the other end is heard. The detection time is the other
//! end's multiplier times the larger of its transmit interval and our required receive interval. A required interval of
//! zero ("send nothing") is ignored, as in the reference.
//!
//! A wrong discriminator is accepted, because a session is found by its link. A reference router keeps the first
//! discriminator that it has learnt as long as it hears us, even after this router restarts with another one.
//! Discarding its packets would keep the link down for good.

use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::machine::{Action, Event, State, step};
use super::packet::Control;

/// The interval between packets in state Down.
const SLOW: Duration = Duration::from_secs(1);
/// The first packet is sent within this time, at random, so that a thousand links do not send at once.
const START: Duration = Duration::from_millis(100);
/// The minimum time between two packets, whatever the other end requires.
const PAUSE: Duration = Duration::from_millis(10);

/// The settings of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The other end declares us lost after this many lost packets; not 0.
    pub detect_mult: u8,
    /// The interval at which to send: 1 ms to 71 minutes.
    pub desired_min_tx: Duration,
    /// The interval at which to receive: 1 ms to 71 minutes.
    pub required_min_rx: Duration,
}

/// A change of a link's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// The link can be used.
    Up,
    /// The link cannot be used.
    Down(Cause),
}

/// Why a link cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nothing has come from the other end for the detection time.
    Silence(Duration),
    /// The other end says that its session is down: it does not hear this one, or begins anew.
    Told,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Silence(time) => write!(f, "nothing received for {time:?}"),
            Cause::Told => f.write_str("the other end says that it is down: it hears nothing, or has started"),
        }
    }
}

impl fmt::Display for LinkChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LinkChange::Up => "up",
            LinkChange::Down(_) => "down",
        })
    }
}

/// What another process needs to know to continue a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// The session's own discriminator.
    pub discriminator: u32,
    /// The other end's, 0 if it is not known.
    pub remote_discriminator: u32,
    /// The state, as in packets.
    pub state: u8,
    /// The multiplier that the other end knows.
    pub detect_mult: u8,
    /// The intervals that the other end knows, in microseconds.
    pub desired_min_tx_us: u32,
    /// See [`Saved::desired_min_tx_us`].
    pub required_min_rx_us: u32,
    /// The interval that the other end requires, in microseconds.
    pub remote_min_rx_us: u32,
    /// After this many microseconds without a packet the session goes down; `None` if that does not matter in its state.
    pub detection_us: Option<u64>,
}

/// A session. The initial state is Down.
#[derive(Clone, Debug)]
pub struct Session {
    settings: Settings,
    /// The previous settings and until when they may still matter, because the other end may not know the new ones.
    earlier: Option<(Settings, Instant)>,
    state: State,
    discriminator: u32,
    remote_discriminator: u32,
    remote_min_rx: Duration,
    sent: Option<Instant>,
    send_at: Instant,
    expires: Option<Instant>,
    /// The detection time as of the last packet.
    detection: Duration,
    /// The state of a pseudo-random generator for jitter.
    random: u64,
    state_changes: u64,
    /// Why and when it went down, if it has been up.
    down: Option<(Cause, Instant)>,
}

impl Session {
    /// Creates a session. `discriminator` and `seed` must be random, and `discriminator` not 0.
    pub fn new(settings: Settings, discriminator: u32, seed: u64, now: Instant) -> Session {
        let mut session = Session {
            settings,
            earlier: None,
            state: State::Down,
            discriminator,
            remote_discriminator: 0,
            remote_min_rx: Duration::ZERO,
            sent: None,
            send_at: now,
            expires: None,
            detection: Duration::ZERO,
            random: seed | 1,
            state_changes: 0,
            down: None,
        };
        let wait = START * session.below(100) / 100;
        session.send_at += wait;
        session
    }

    /// Creates a session that goes on where one of another process has stopped. Its next packet is due now, and the other end has
    /// the whole detection time for its next. Returns `None` if no session can be like this.
    pub fn resumed(saved: &Saved, settings: Settings, seed: u64, now: Instant) -> Option<Session> {
        let state = State::from_bits(saved.state);
        let known = Settings {
            detect_mult: saved.detect_mult,
            desired_min_tx: Duration::from_micros(saved.desired_min_tx_us.into()),
            required_min_rx: Duration::from_micros(saved.required_min_rx_us.into()),
        };
        let sound = known.detect_mult != 0 && !known.desired_min_tx.is_zero() && !known.required_min_rx.is_zero();
        if saved.discriminator == 0 || saved.state > 3 || state == State::AdminDown || !sound {
            return None;
        }
        let mut session = Session::new(known, saved.discriminator, seed, now);
        session.state = state;
        session.remote_discriminator = saved.remote_discriminator;
        session.remote_min_rx = Duration::from_micros(saved.remote_min_rx_us.into());
        session.send_at = now;
        if let Some(detection) = saved.detection_us {
            // No packet expresses a longer one.
            session.detection = Duration::from_micros(detection.min(u64::from(u32::MAX) * 255));
            session.expires = Some(now + session.detection);
        }
        session.configure(settings, now);
        Some(session)
    }

    /// What another process needs to continue this session.
    pub fn saved(&self) -> Saved {
        Saved {
            discriminator: self.discriminator,
            remote_discriminator: self.remote_discriminator,
            state: self.state as u8,
            detect_mult: self.settings.detect_mult,
            desired_min_tx_us: microseconds(self.settings.desired_min_tx),
            required_min_rx_us: microseconds(self.settings.required_min_rx),
            remote_min_rx_us: microseconds(self.remote_min_rx),
            detection_us: self.expires.map(|_| self.detection.as_micros() as u64),
        }
    }

    /// The current state.
    pub fn state(&self) -> State {
        self.state
    }

    /// The session's own discriminator.
    pub fn discriminator(&self) -> u32 {
        self.discriminator
    }

    /// The number of state changes.
    pub fn state_changes(&self) -> u64 {
        self.state_changes
    }

    /// Why and when it has gone down, if it is down and has been up.
    pub fn down(&self) -> Option<(Cause, Instant)> {
        self.down.filter(|_| self.state != State::Up)
    }

    /// When [`Session::poll`] must be called next.
    pub fn deadline(&self) -> Instant {
        self.expires.map_or(self.send_at, |at| at.min(self.send_at))
    }

    /// Changes the settings of the running session and announces them at once. Until the other end certainly knows
    /// them, packets are sent at the shorter interval and the detection time is the longer one, so that the session
    /// stays up.
    pub fn configure(&mut self, settings: Settings, now: Instant) {
        if settings == self.settings {
            return;
        }
        let longest = |s: &Settings| s.desired_min_tx.max(s.required_min_rx).max(self.remote_min_rx);
        let until = now + longest(&self.settings).max(longest(&settings)).max(SLOW) * 10;
        self.earlier = Some((self.settings, until));
        self.settings = settings;
        self.announce(now);
    }

    /// Processes a packet from the other end. Returns the change of the link's state, if any.
    pub fn receive(&mut self, packet: &Control, now: Instant) -> Option<LinkChange> {
        self.forget_earlier(now);
        let mut required = self.settings.required_min_rx;
        if let Some((earlier, _)) = self.earlier {
            required = required.max(earlier.required_min_rx);
        }
        let interval = required.max(Duration::from_micros(packet.desired_min_tx_us.into()));
        self.detection = interval * u32::from(packet.detect_mult);
        self.expires = Some(now + self.detection);
        self.remote_min_rx = Duration::from_micros(packet.required_min_rx_us.into());
        self.remote_discriminator = packet.my_discriminator;
        let change = self.apply(Event::Heard(packet.state), now);
        // The other end may now require packets sooner.
        if let Some(sent) = self.sent {
            self.send_at = self.send_at.min((sent + self.interval()).max(now));
        }
        change
    }

    /// Runs the timers that are due. Returns the change of the link's state, if any, and a packet to send, if any.
    pub fn poll(&mut self, now: Instant) -> (Option<LinkChange>, Option<Control>) {
        self.forget_earlier(now);
        let mut change = None;
        if self.expires.is_some_and(|at| at <= now) {
            self.expires = None;
            change = self.apply(Event::Expired, now);
        }
        if self.send_at > now {
            return (change, None);
        }
        let packet = Control {
            state: self.state,
            detect_mult: self.settings.detect_mult,
            my_discriminator: self.discriminator,
            your_discriminator: self.remote_discriminator,
            desired_min_tx_us: microseconds(self.desired_min_tx()),
            required_min_rx_us: microseconds(self.settings.required_min_rx),
        };
        // RFC 5880, section 6.8.7: 75 to 100 percent of the interval, and at most 90 percent if the multiplier is 1.
        let percent = if self.settings.detect_mult == 1 { 75 + self.below(16) } else { 75 + self.below(26) };
        self.sent = Some(now);
        self.send_at = now + self.interval() * percent / 100;
        (change, Some(packet))
    }

    fn apply(&mut self, event: Event, now: Instant) -> Option<LinkChange> {
        let (state, actions) = step(self.state, event);
        self.state_changes += u64::from(state != self.state);
        self.state = state;
        let mut change = None;
        for action in actions {
            match action {
                Action::Announce => self.announce(now),
                Action::LinkUp => change = Some(LinkChange::Up),
                Action::LinkDown => {
                    let cause = if event == Event::Expired { Cause::Silence(self.detection) } else { Cause::Told };
                    self.down = Some((cause, now));
                    change = Some(LinkChange::Down(cause));
                }
                Action::ForgetRemote => {
                    self.remote_discriminator = 0;
                    self.remote_min_rx = Duration::ZERO;
                }
            }
        }
        change
    }

    /// The time after which the other end takes this one for dead, if it takes it for alive now.
    pub fn patience(&self) -> Option<Duration> {
        let interval = self.settings.desired_min_tx.max(self.remote_min_rx);
        (self.state == State::Up).then_some(interval * u32::from(self.settings.detect_mult))
    }

    /// Sends the next packet as soon as possible.
    pub fn announce(&mut self, now: Instant) {
        let soonest = self.sent.map_or(now, |at| now.max(at + PAUSE));
        self.send_at = self.send_at.min(soonest);
    }

    fn forget_earlier(&mut self, now: Instant) {
        if self.earlier.is_some_and(|(_, until)| until <= now) {
            self.earlier = None;
        }
    }

    /// The transmit interval that packets announce.
    fn desired_min_tx(&self) -> Duration {
        if self.state == State::Down { SLOW } else { self.settings.desired_min_tx }
    }

    /// The time between packets without jitter.
    fn interval(&self) -> Duration {
        let mut desired = self.desired_min_tx();
        if let Some((earlier, _)) = self.earlier {
            desired = desired.min(earlier.desired_min_tx);
        }
        desired.max(self.remote_min_rx)
    }

    /// Returns a pseudo-random number below `limit` (xorshift64*).
    fn below(&mut self, limit: u32) -> u32 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        let high = self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        ((high * u64::from(limit)) >> 32) as u32
    }
}

fn microseconds(interval: Duration) -> u32 {
    u32::try_from(interval.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings = Settings {
        detect_mult: 3,
        desired_min_tx: Duration::from_millis(200),
        required_min_rx: Duration::from_millis(200),
    };
    const HEARD: Control = Control {
        state: State::Down,
        detect_mult: 3,
        my_discriminator: 12345,
        your_discriminator: 0,
        desired_min_tx_us: 1_000_000,
        required_min_rx_us: 200_000,
    };

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Two sessions and the wire between them, in simulated time.
    struct Pair {
        now: Instant,
        ends: [Session; 2],
        /// Whether packets from end i arrive.
        carries: [bool; 2],
        /// Every n-th packet is lost; 0 for none.
        lose_each: u32,
        /// Packets in flight: time of arrival, receiving end, packet.
        wire: Vec<(Instant, usize, Control)>,
        sent: [Vec<(Instant, Control)>; 2],
        changes: Vec<(Instant, usize, LinkChange)>,
    }

    impl Pair {
        fn new(a: Settings, b: Settings) -> Pair {
            let now = Instant::now();
            Pair {
                now,
                ends: [Session::new(a, 1, 11, now), Session::new(b, 2, 22, now)],
                carries: [true; 2],
                lose_each: 0,
                wire: vec![],
                sent: [vec![], vec![]],
                changes: vec![],
            }
        }

        fn run(&mut self, time: Duration) {
            let end = self.now + time;
            loop {
                let timers = self.ends.iter().map(Session::deadline);
                let next = timers.chain(self.wire.iter().map(|w| w.0)).min().unwrap().max(self.now);
                if next > end {
                    break;
                }
                self.now = next;
                for (_, to, packet) in self.wire.extract_if(.., |w| w.0 <= next).collect::<Vec<_>>() {
                    // Encode and decode, as on a real wire.
                    let packet = Control::decode(&packet.encode()).unwrap();
                    let change = self.ends[to].receive(&packet, next);
                    self.changes.extend(change.map(|c| (next, to, c)));
                }
                for from in 0..2 {
                    let (change, packet) = self.ends[from].poll(next);
                    self.changes.extend(change.map(|c| (next, from, c)));
                    let Some(packet) = packet else { continue };
                    self.sent[from].push((next, packet));
                    let count = self.sent[from].len() as u32;
                    if self.carries[from] && (self.lose_each == 0 || !count.is_multiple_of(self.lose_each)) {
                        self.wire.push((next + ms(5), 1 - from, packet));
                    }
                }
            }
            self.now = end;
        }

        fn states(&self) -> [State; 2] {
            [self.ends[0].state(), self.ends[1].state()]
        }

        fn gaps(&self, end: usize) -> Vec<Duration> {
            self.sent[end].windows(2).map(|w| w[1].0 - w[0].0).collect()
        }
    }

    const UP: [State; 2] = [State::Up; 2];

    #[test]
    fn two_sessions_come_up_and_keep_their_rate() {
        let mut pair = Pair::new(SETTINGS, SETTINGS);
        pair.run(ms(500));
        assert_eq!(pair.states(), UP);
        pair.sent = [vec![], vec![]];
        pair.run(Duration::from_secs(100));
        assert_eq!(pair.states(), UP);
        assert_eq!(pair.changes.len(), 2);
        let gaps = pair.gaps(0);
        assert!(gaps.iter().all(|g| (ms(150)..=ms(200)).contains(g)), "{gaps:?}");
        // The jitter varies, and in both directions.
        assert!(gaps.iter().any(|g| *g < ms(160)) && gaps.iter().any(|g| *g > ms(190)));
        let packet = pair.sent[0].last().unwrap().1;
        assert_eq!((packet.my_discriminator, packet.your_discriminator), (1, 2));
        assert_eq!((packet.desired_min_tx_us, packet.required_min_rx_us), (200_000, 200_000));
    }

    #[test]
    fn a_resumed_session_is_the_same_to_the_other_end() {
        let faster = Settings { desired_min_tx: ms(100), ..SETTINGS };
        for settings in [SETTINGS, faster] {
            let mut pair = Pair::new(SETTINGS, SETTINGS);
            pair.run(Duration::from_secs(2));
            pair.changes.clear();
            for _ in 0..10 {
                // Nobody serves this end for a while.
                pair.now += ms(150);
                pair.wire.clear();
                pair.ends[0] = Session::resumed(&pair.ends[0].saved(), settings, 3, pair.now).unwrap();
                pair.run(ms(350));
            }
            assert_eq!((pair.states(), &pair.changes[..]), (UP, &[][..]));
            let packet = pair.sent[0].last().unwrap().1;
            assert_eq!((packet.my_discriminator, packet.your_discriminator), (1, 2));
            assert_eq!(packet.desired_min_tx_us, microseconds(settings.desired_min_tx));
            // It notices a cut as before.
            pair.carries = [false; 2];
            pair.run(ms(700));
            assert_eq!(pair.changes.len(), 2);
        }
    }

    #[test]
    fn what_is_no_session_is_not_resumed() {
        let now = Instant::now();
        let good = Session::new(SETTINGS, 7, 7, now).saved();
        assert_eq!(Session::resumed(&good, SETTINGS, 7, now).unwrap().saved(), good);
        for bad in [
            Saved { discriminator: 0, ..good },
            Saved { state: 0, ..good },
            Saved { state: 7, ..good },
            Saved { detect_mult: 0, ..good },
            Saved { desired_min_tx_us: 0, ..good },
            Saved { required_min_rx_us: 0, ..good },
        ] {
            assert!(Session::resumed(&bad, SETTINGS, 7, now).is_none(), "{bad:?}");
        }
        let longest = Saved { detection_us: Some(u64::MAX), remote_min_rx_us: u32::MAX, ..good };
        assert!(Session::resumed(&longest, SETTINGS, 7, now).is_some());
    }

    #[test]
    fn a_cut_is_noticed_in_time_and_repaired() {
        let mut pair = Pair::new(SETTINGS, SETTINGS);
        pair.run(Duration::from_secs(2));
        let cut = pair.now;
        pair.carries = [false; 2];
        pair.changes.clear();
        pair.run(ms(700));
        assert_eq!(pair.changes.len(), 2);
        for (at, _, change) in &pair.changes {
            assert_eq!(*change, LinkChange::Down(Cause::Silence(ms(600))));
            // Three times 200 ms after the last packet, which was at most 200 ms old.
            let after = *at - cut;
            assert!((ms(400)..=ms(605)).contains(&after), "{after:?}");
        }
        pair.sent = [vec![], vec![]];
        pair.run(Duration::from_secs(20));
        assert!(pair.gaps(1).iter().all(|g| (ms(750)..=ms(1000)).contains(g)), "{:?}", pair.gaps(1));
        let packet = pair.sent[1].last().unwrap().1;
        assert_eq!((packet.state, packet.your_discriminator, packet.desired_min_tx_us), (State::Down, 0, 1_000_000));
        pair.carries = [true; 2];
        pair.run(ms(1100));
        assert_eq!(pair.states(), UP);
    }

    #[test]
    fn a_link_that_works_one_way_only_is_down_at_both_ends() {
        let mut pair = Pair::new(SETTINGS, SETTINGS);
        pair.run(Duration::from_secs(2));
        pair.carries = [false, true];
        pair.run(Duration::from_secs(5));
        assert!(pair.states().iter().all(|s| *s != State::Up), "{:?}", pair.states());
        pair.carries = [true; 2];
        pair.run(Duration::from_secs(2));
        assert_eq!(pair.states(), UP);
    }

    #[test]
    fn loss_below_the_multiplier_does_no_harm() {
        for lose_each in [2, 3, 7] {
            let mut pair = Pair::new(SETTINGS, SETTINGS);
            pair.lose_each = lose_each;
            pair.run(Duration::from_secs(5));
            assert_eq!(pair.states(), UP);
            pair.changes.clear();
            pair.run(Duration::from_secs(200));
            assert_eq!(pair.changes, [], "each {lose_each}th lost");
        }
    }

    #[test]
    fn each_end_gets_what_it_can_take() {
        let slow = Settings { detect_mult: 2, required_min_rx: ms(700), desired_min_tx: ms(50) };
        let mut pair = Pair::new(SETTINGS, slow);
        pair.run(Duration::from_secs(3));
        assert_eq!(pair.states(), UP);
        pair.sent = [vec![], vec![]];
        pair.run(Duration::from_secs(30));
        assert_eq!(pair.states(), UP);
        assert!(pair.gaps(0).iter().all(|g| (ms(525)..=ms(700)).contains(g)), "{:?}", pair.gaps(0));
        assert!(pair.gaps(1).iter().all(|g| (ms(150)..=ms(200)).contains(g)), "{:?}", pair.gaps(1));
    }

    #[test]
    fn a_restart_is_noticed_by_the_other_end() {
        let mut pair = Pair::new(SETTINGS, SETTINGS);
        pair.run(Duration::from_secs(2));
        pair.changes.clear();
        pair.ends[0] = Session::new(SETTINGS, 77, 5, pair.now);
        pair.run(ms(1500));
        assert_eq!(pair.states(), UP);
        let at_other_end: Vec<_> = pair.changes.iter().filter(|c| c.1 == 1).map(|c| c.2).collect();
        assert_eq!(at_other_end, [LinkChange::Down(Cause::Told), LinkChange::Up]);
        assert_eq!(pair.sent[1].last().unwrap().1.your_discriminator, 77);
    }

    #[test]
    fn new_settings_take_effect_without_a_flap() {
        let fast = Settings { desired_min_tx: ms(50), required_min_rx: ms(50), ..SETTINGS };
        let slow = Settings { desired_min_tx: ms(2000), required_min_rx: ms(2000), ..SETTINGS };
        for (before, after) in [(fast, slow), (slow, fast), (SETTINGS, slow), (SETTINGS, fast)] {
            let mut pair = Pair::new(before, SETTINGS);
            pair.run(Duration::from_secs(20));
            assert_eq!(pair.states(), UP);
            pair.changes.clear();
            pair.ends[0].configure(after, pair.now);
            pair.run(Duration::from_secs(40));
            pair.sent = [vec![], vec![]];
            pair.run(Duration::from_secs(60));
            assert_eq!((pair.states(), pair.changes.as_slice()), (UP, [].as_slice()), "{before:?} {after:?}");
            let wanted = after.desired_min_tx.max(SETTINGS.required_min_rx);
            assert!(pair.gaps(0).iter().all(|g| *g <= wanted && *g >= wanted * 3 / 4), "{:?}", pair.gaps(0));
        }
    }

    #[test]
    fn an_answer_comes_at_once_as_the_reference_wants_it() {
        let now = Instant::now();
        let mut session = Session::new(SETTINGS, 9, 3, now);
        let first = session.poll(now + START).1.unwrap();
        assert_eq!((first.state, first.desired_min_tx_us, first.your_discriminator), (State::Down, 1_000_000, 0));
        let heard_at = now + START + ms(100);
        assert_eq!(session.receive(&HEARD, heard_at), None);
        assert_eq!(session.deadline(), heard_at);
        let answer = session.poll(heard_at).1.unwrap();
        let want = Control {
            state: State::Init,
            detect_mult: 3,
            my_discriminator: 9,
            your_discriminator: 12345,
            desired_min_tx_us: 200_000,
            required_min_rx_us: 200_000,
        };
        assert_eq!(answer, want);
    }

    #[test]
    fn a_hostile_peer_cannot_make_it_send_often() {
        let start = Instant::now();
        let mut session = Session::new(SETTINGS, 9, 3, start);
        let mut sent = 0;
        for i in 0..1_000_000u64 {
            let now = start + Duration::from_micros(10 * i);
            let state = [State::Down, State::Init, State::AdminDown, State::Up][i as usize % 4];
            let packet = Control { state, your_discriminator: 9, required_min_rx_us: 0, ..HEARD };
            session.receive(&packet, now);
            sent += u32::from(session.poll(now).1.is_some());
        }
        // In ten seconds.
        assert!(sent <= 1001, "{sent}");
    }

    #[test]
    fn a_peer_that_wanted_hardly_any_packets_and_now_does_gets_them() {
        let start = Instant::now();
        let mut session = Session::new(SETTINGS, 9, 3, start);
        let init = Control { state: State::Init, your_discriminator: 9, ..HEARD };
        session.receive(&Control { required_min_rx_us: u32::MAX, ..init }, start);
        session.poll(start + START);
        assert!(session.deadline() > start + Duration::from_secs(2));
        let now = start + Duration::from_secs(1);
        session.receive(&init, now);
        assert!(session.deadline() <= now + ms(200));
    }
}
