//! Applications and IPC processes that are joined by a link in memory, with real sockets between.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::*;
use crate::client::{ClientError, Flow, Listener, Received};
use crate::efcp::LONGEST_SDU;
use crate::fixture;
use crate::ipcp::Settings;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn ipcp(own: &str, address: u16) -> Ipcp {
    let dead_after = Duration::from_secs(60);
    Ipcp::new(Settings { dead_after, ..fixture::settings(own, Some(address), 1) }, 1000)
}

/// Runs two systems, each with an IPC process and a socket, while `work` does something with the sockets.
fn with_systems(work: impl FnOnce(&Path, &Path)) {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.sock", "b.sock"].map(|file| folder.path().join(file));
    let mut sockets = paths.each_ref().map(|path| Applications::listen(path).unwrap());
    let mut ipcps = [vec![ipcp("a", 1)], vec![ipcp("b", 2)]];
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let begin = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                let now = begin.elapsed();
                for at in 0..2 {
                    let (socket, ipcps) = (&mut sockets[at], &mut ipcps[at]);
                    socket.serve(ipcps, now, &|_| Value::Null);
                    socket.deliver(ipcps, now);
                    ipcps[0].tick(now);
                    while let Some((flow, event)) = ipcps[0].next_event() {
                        socket.event((0, flow), event, ipcps, now);
                    }
                }
                for at in 0..2 {
                    for transmit in ipcps[at][0].take_transmits() {
                        ipcps[1 - at][0].receive(0, [2; 6], &transmit.pdu, now);
                    }
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&paths[0], &paths[1])));
        stop.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// A flow to `server`, as soon as the directory knows it.
fn allocate(path: &Path, qos: &str) -> Flow {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        match Flow::allocate(path, name("client"), name("server"), qos, None) {
            Ok(flow) => return flow,
            Err(ClientError::Failed(_)) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Accepts a flow that is asked for. Who asked before may have lost patience.
fn accept(listener: &Listener) -> Flow {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        match listener.accept(&listener.next().unwrap()) {
            Ok(flow) => return flow,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
    }
}

#[test]
fn what_was_sent_arrives_and_the_end_is_told() {
    with_systems(|here, there| {
        std::thread::scope(|scope| {
            let listener = Listener::register(there, name("server"), None).unwrap();
            let server = scope.spawn(move || {
                let flow = accept(&listener);
                let mut buffer = vec![0; LONGEST_SDU];
                let mut lengths = Vec::new();
                loop {
                    match flow.receive(&mut buffer, Some(Duration::from_secs(60))).unwrap() {
                        Received::Sdu(length) => lengths.push(length),
                        end => return (lengths, end),
                    }
                }
            });
            let flow = allocate(here, "reliable");
            let lengths: Vec<usize> = (0..1000).map(|number| number % 1500).chain([0, LONGEST_SDU, 0]).collect();
            for length in &lengths {
                assert!(flow.send(&vec![7; *length]).unwrap());
            }
            flow.close(Some(Duration::from_secs(60))).unwrap();
            assert_eq!(server.join().unwrap(), (lengths, Received::End));
        });
    });
}

#[test]
fn an_application_that_dies_is_no_clean_end() {
    with_systems(|here, there| {
        let listener = Listener::register(there, name("server"), None).unwrap();
        for sends in [false, true] {
            let flow = std::thread::scope(|scope| {
                let client = scope.spawn(|| allocate(here, "reliable"));
                let accepted = accept(&listener);
                let flow = client.join().unwrap();
                if sends {
                    assert!(flow.send(b"hello").unwrap());
                }
                drop(accepted);
                flow
            });
            let mut buffer = vec![0; LONGEST_SDU];
            let end = flow.receive(&mut buffer, Some(Duration::from_secs(60))).unwrap();
            assert!(matches!(end, Received::Failed(_)) == sends, "{end:?}");
            let patience = Instant::now() + Duration::from_secs(60);
            while flow.send(b"late").unwrap() {
                assert!(Instant::now() < patience, "the connection outlives the flow");
            }
        }
    });
}

#[test]
fn who_asks_for_nobody_is_told() {
    with_systems(|here, there| {
        let listener = Listener::register(there, name("server"), None).unwrap();
        allocate_refused(here, &listener);
        let again = Listener::register(there, name("server"), None);
        assert!(again.is_err_and(|error| error.to_string().contains("registered already")));
    });
}

/// A request that the listener does not answer before its IPC process loses patience.
fn allocate_refused(path: &Path, listener: &Listener) {
    std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            let end = Instant::now() + Duration::from_secs(60);
            loop {
                match Flow::allocate(path, name("client"), name("server"), "reliable", None) {
                    Err(ClientError::Failed(why)) if why == "refused" || Instant::now() >= end => return why,
                    Err(ClientError::Failed(_)) => std::thread::sleep(Duration::from_millis(5)),
                    other => panic!("{other:?}"),
                }
            }
        });
        listener.next().unwrap();
        assert_eq!(client.join().unwrap(), "refused");
    });
}

/// What an application writes by itself, without the client.
fn talk(path: &Path, packets: &[&[u8]]) -> OwnedFd {
    let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    rustix::net::connect(&fd, &SocketAddrUnix::new(path).unwrap()).unwrap();
    rustix::net::sockopt::set_socket_timeout(&fd, rustix::net::sockopt::Timeout::Recv, Some(Duration::from_secs(60)))
        .unwrap();
    for packet in packets {
        rustix::net::send(&fd, packet, SendFlags::NOSIGNAL).unwrap();
    }
    fd
}

/// All that it receives until the connection ends.
fn listen(fd: &OwnedFd) -> Vec<Vec<u8>> {
    let mut buffer = vec![0; LONGEST_PACKET];
    let next = || match rustix::net::recv(fd, &mut buffer[..], RecvFlags::empty()) {
        Ok((length, _)) if length > 0 => Some(buffer[..length].to_vec()),
        _ => None,
    };
    std::iter::from_fn(next).collect()
}

#[test]
fn only_who_is_registered_accepts() {
    with_systems(|here, there| {
        let listener = Listener::register(there, name("server"), None).unwrap();
        std::thread::scope(|scope| {
            let client = scope.spawn(|| allocate(here, "reliable"));
            let end = Instant::now() + Duration::from_secs(60);
            let incoming = loop {
                let incoming = listener.next().unwrap();
                for guess in ["0", "65537", "", &"0".repeat(32)] {
                    let request = serde_json::to_vec(&Request::Accept { flow: guess.into(), plain: false }).unwrap();
                    let answers = listen(&talk(there, &[&request]));
                    assert!(String::from_utf8_lossy(&answers[0]).contains("there is no such request"), "{answers:?}");
                }
                match listener.accept(&incoming) {
                    Ok(_) => break incoming,
                    // Who asks has lost patience, and asks again.
                    Err(error) => assert!(Instant::now() < end, "{error}"),
                }
            };
            client.join().unwrap();
            let again = listener.accept(&incoming).map(drop).unwrap_err();
            assert!(again.to_string().contains("not any more"));
        });
        // A listener that goes refuses what it was asked for, at once.
        let client = std::thread::scope(|scope| {
            let client = scope.spawn(|| Flow::allocate(here, name("client"), name("server"), "reliable", None));
            listener.next().unwrap();
            drop(listener);
            client.join().unwrap()
        });
        assert!(matches!(client, Err(ClientError::Failed(why)) if why == "refused"));
    });
}

#[test]
fn who_breaks_the_rules_is_told_which() {
    with_systems(|here, there| {
        let listener = Listener::register(there, name("server"), None).unwrap();
        let register = br#"{"register":{"name":"other","dif":null}}"#;
        for (packets, wanted) in [
            (&[&b"hello"[..]][..], "not a request"),
            (&[br#"{"register":{"name":"a b"}}"#], "expected a name"),
            (&[br#"{"register":{"name":"a","dif":"elsewhere"}}"#], "no DIF elsewhere"),
            (&[register, register], "one request"),
        ] {
            let answers = listen(&talk(there, packets));
            let last = String::from_utf8_lossy(answers.last().unwrap()).into_owned();
            assert!(last.starts_with("{\"failed\"") && last.contains(wanted), "{wanted}: {last}");
        }
        std::thread::scope(|scope| {
            let client = scope.spawn(|| allocate(here, "reliable"));
            accept(&listener);
            client.join().unwrap();
        });
        let allocate_by_hand = br#"{"allocate":{"from":"client","to":"server","qos":"reliable","dif":null}}"#;
        let long = vec![0; 2 + LONGEST_SDU];
        for (packet, wanted) in [(&b"\x07hello"[..], "expected 0 and an SDU"), (&long, "65536 bytes at most")] {
            let end = Instant::now() + Duration::from_secs(60);
            let (fd, accepted) = loop {
                let fd = talk(here, &[allocate_by_hand]);
                match listener.accept(&listener.next().unwrap()) {
                    Ok(accepted) => break (fd, accepted),
                    Err(error) => assert!(Instant::now() < end, "{error}"),
                }
            };
            let mut answer = [0; 64];
            let (length, _) = rustix::net::recv(&fd, &mut answer, RecvFlags::empty()).unwrap();
            assert_eq!(&answer[..length], b"\"done\"");
            rustix::net::send(&fd, packet, SendFlags::NOSIGNAL).unwrap();
            let received = listen(&fd);
            assert_eq!(received[0][0], packet::END);
            assert!(String::from_utf8_lossy(&received[0][1..]).contains(wanted), "{received:?}");
            drop(accepted);
        }
    });
}

/// The answers of a connection, which goes on.
fn answer(fd: &OwnedFd) -> Answer {
    crate::client::answer(fd).unwrap()
}

/// The acceptance of the flow that `flow` asks for at a listener; none if it is refused, because the directory does not know the name yet.
fn acceptance(listener: &OwnedFd, flow: &OwnedFd, name: &str, reliable: bool) -> Option<String> {
    let soon = |fd: &OwnedFd| {
        let time = Some(Duration::from_millis(50));
        rustix::net::sockopt::set_socket_timeout(fd, rustix::net::sockopt::Timeout::Recv, time).unwrap();
        let found = crate::client::answer(fd);
        let time = Some(Duration::from_secs(60));
        rustix::net::sockopt::set_socket_timeout(fd, rustix::net::sockopt::Timeout::Recv, time).unwrap();
        found
    };
    loop {
        if let Ok(Answer::Requested { flow: key, from, to, reliable: is, .. }) = soon(listener) {
            assert_eq!((from.as_str(), to.as_str(), is), ("client|1", name, reliable));
            return Some(format!(r#"{{"accept":{{"flow":"{key}","plain":true}}}}"#));
        }
        if let Err(ClientError::Failed(_)) = soon(flow) {
            return None;
        }
    }
}

#[test]
fn packets_of_plain_flows_are_sdus() {
    with_systems(|here, there| {
        let listener = talk(there, &[b"\"listen\""]);
        let Answer::Listening { listener: key } = answer(&listener) else { panic!("no listener") };
        for name in ["server", "other"] {
            let request = format!(r#"{{"register":{{"name":"{name}","listener":"{key}"}}}}"#);
            assert_eq!(listen(&talk(there, &[request.as_bytes()])), [b"\"done\""]);
            let twice = listen(&talk(there, &[request.as_bytes()]));
            assert!(String::from_utf8_lossy(&twice[0]).contains("registered already"));
        }
        for (name, reliable) in [("server", true), ("other", false)] {
            let request = format!(
                r#"{{"allocate":{{"from":"client|1","to":"{name}","qos":{{"reliable":{reliable}}},"plain":true}}}}"#
            );
            let asked_until = Instant::now() + Duration::from_secs(60);
            let (flow, accepted) = loop {
                assert!(Instant::now() < asked_until, "nobody asks");
                let flow = talk(here, &[request.as_bytes()]);
                let Some(accept) = acceptance(&listener, &flow, name, reliable) else { continue };
                let accepted = talk(there, &[accept.as_bytes()]);
                match crate::client::answer(&accepted) {
                    Ok(answer) => assert_eq!(answer, Answer::Flow { longest_sdu: LONGEST_SDU }),
                    // Who asked has lost patience.
                    Err(ClientError::Failed(_)) => continue,
                    Err(error) => panic!("{error}"),
                }
                break (flow, accepted);
            };
            assert_eq!(answer(&flow), Answer::Flow { longest_sdu: LONGEST_SDU });
            for sdu in [&b"\0"[..], b"\x01", &[7; LONGEST_SDU]] {
                rustix::net::send(&flow, sdu, SendFlags::NOSIGNAL).unwrap();
                let mut buffer = vec![0; LONGEST_SDU + 1];
                let (length, _) = rustix::net::recv(&accepted, &mut buffer[..], RecvFlags::empty()).unwrap();
                assert_eq!(&buffer[..length], sdu);
            }
            // The other application reads what was sent and then the end. It may write for some time, as over other implementations.
            rustix::net::send(&flow, b"last", SendFlags::NOSIGNAL).unwrap();
            let ended = Instant::now();
            drop(flow);
            assert_eq!(listen(&accepted), [b"last"]);
            let late = rustix::net::send(&accepted, b"late", SendFlags::NOSIGNAL);
            assert!(late.is_ok() || ended.elapsed() >= AFTERWARDS);
            let end = Instant::now() + Duration::from_secs(60);
            while rustix::net::send(&accepted, b"late", SendFlags::NOSIGNAL).is_ok() {
                assert!(Instant::now() < end, "the connection outlives the flow");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        let unregister = |name: &str| {
            let request = format!(r#"{{"unregister":{{"name":"{name}","listener":"{key}"}}}}"#);
            String::from_utf8_lossy(&listen(&talk(there, &[request.as_bytes()]))[0]).into_owned()
        };
        assert_eq!(unregister("other"), "\"done\"");
        assert!(unregister("other").contains("other is not registered"));
        drop(listener);
        let end = Instant::now() + Duration::from_secs(60);
        while !unregister("server").contains("no such listener") {
            assert!(Instant::now() < end, "the names of a listener outlive it");
        }
    });
}

/// An application that closes its connection while more comes than it has read: what it has sent arrives.
#[test]
fn nothing_is_lost_of_an_application_that_leaves_something_unread() {
    const COUNT: u32 = 2000;
    with_systems(|here, there| {
        let listener = Listener::register(there, name("server"), None).unwrap();
        std::thread::scope(|scope| {
            let client = scope.spawn(|| {
                let flow = allocate(here, "reliable");
                let mut buffer = vec![0; LONGEST_SDU];
                assert_eq!(flow.receive(&mut buffer, Some(Duration::from_secs(60))).unwrap(), Received::Sdu(1000));
                for number in 0..COUNT {
                    assert!(flow.send(&number.to_be_bytes()).unwrap());
                }
            });
            let accepted = Arc::new(accept(&listener));
            let writer = accepted.clone();
            scope.spawn(move || while writer.send(&[1; 1000]).unwrap() {});
            let mut buffer = vec![0; LONGEST_SDU];
            for number in 0..COUNT {
                let received = accepted.receive(&mut buffer, Some(Duration::from_secs(60))).unwrap();
                assert_eq!((received, &buffer[..4]), (Received::Sdu(4), &number.to_be_bytes()[..]));
            }
            let end = accepted.receive(&mut buffer, Some(Duration::from_secs(60))).unwrap();
            assert!(matches!(end, Received::Failed(_)), "{end:?}: what the server sent was not read");
            client.join().unwrap();
        });
    });
}
