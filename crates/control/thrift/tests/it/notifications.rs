//! Notifications as a subscriber of nanomsg's protocols gets them.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use hopwright_dataplane::{Digest, EngineKind, FrameSize, Pool, SwitchBuilder, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_thrift::{NotificationAddress, Options, Server, Switch};

#[test]
fn a_subscriber_gets_the_samples_of_a_digest() {
    let text = include_str!("../../../../../tests/thrift/learn.p4");
    let pipeline = Arc::new(compile_text("learn.p4", text, &Default::default(), true).pipeline.unwrap());
    let vdp = VirtualDataPlane::new(pipeline, EngineKind::Interp).unwrap();
    let pool = Pool::new(64, FrameSize { headroom: 64, data: 256 }).unwrap();
    let (switch, _worker) = SwitchBuilder::new(vdp).pools(vec![pool]).build().unwrap();
    let path = std::env::temp_dir().join(format!("hopwright-notifications-{}.ipc", std::process::id()));
    let address = NotificationAddress::Ipc(path.display().to_string());
    let options = Options { address: ([127, 0, 0, 1], 0).into(), device_id: 7, notifications: Some(address) };
    let (to, from) = mpsc::channel::<Digest>();
    let (tenant, digests) = (switch.default_tenant().clone(), Box::new(move || from.try_recv().ok()));
    let _server = Server::start(&options, Switch { tenant, model: Box::new(|| None), ports: None, digests }).unwrap();
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(b"\0SP\0\0\x21\0\0").unwrap();
    let mut greeting = [0; 8];
    stream.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"\0SP\0\0\x20\0\0");
    let value = |number: u64, width| hopwright_interp::Value::new(number, width);
    let digest = |number| Digest { name: "learn_t".into(), receiver: 1, data: vec![value(number, 48), value(3, 9)] };
    // A sample that has not been acknowledged is not repeated.
    [0x0200_0000_0011, 0x0200_0000_0011, 0x0200_0000_0012]
        .into_iter()
        .for_each(|number| to.send(digest(number)).unwrap());
    for (buffer, last) in [(0, 0x11), (1, 0x12)] {
        let mut message = [0; 49];
        stream.read_exact(&mut message).unwrap();
        // The mark and the length, then topic, device, context, list, number and count, then the fields in whole bytes.
        let header = [1, 0, 0, 0, 0, 0, 0, 0, 40];
        let rest =
            [b"LEA|".as_slice(), &[7, 0, 0, 0, 0, 0, 0, 0], &[0; 4], &[1, 0, 0, 0], &[buffer, 0, 0, 0, 0, 0, 0, 0]];
        let sample = [1, 0, 0, 0, 2, 0, 0, 0, 0, last, 0, 3];
        assert_eq!(message.as_slice(), [&header[..], &rest.concat(), &sample].concat());
    }
}
