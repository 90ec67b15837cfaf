//! AES-CMAC of one block for batches of 32 blocks, as a SCION border router computes hop-field MACs: this crate's code
//! against the back end of the `aes` crate, in turns, with one key for all blocks and with a key for each.
//!
//! Prints the fastest of many rounds in nanoseconds a block, and the ratio. Run it optimised:
//! `cargo bench --profile release -p hopwright-dataplane --features aes-peer --bench aes`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aes_peer::Aes128;
use aes_peer::cipher::{BlockCipherEncrypt, KeyInit};
use hopwright_abi::{Block, BlockMethod};
use hopwright_dataplane::externs::NativeExtern;
use hopwright_dataplane::{EngineKind, VirtualDataPlane};
use hopwright_driver::compile_text;

const BLOCKS: usize = 32;
const ROUNDS: usize = 2_000;
/// Batches a round.
const BATCHES: usize = 64;

const PROGRAM: &str = r#"
    #include <v1model.p4>
    #include <crypto.p4>
    header h_t { bit<128> block; bit<128> tag; }
    struct headers { h_t h; }
    struct meta {}
    parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t sm) {
        state start { p.extract(hdr.h); transition accept; }
    }
    control V(inout headers hdr, inout meta m) { apply {} }
    control I(inout headers hdr, inout meta m, inout standard_metadata_t sm) {
        AesCmac(32) mac;
        apply { mac.mac(0, hdr.h.block, hdr.h.tag); }
    }
    control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) { apply {} }
    control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
    V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

/// One key with its CMAC subkey K1 (RFC 4493), as a user of the crate would hold them.
struct PeerKey {
    cipher: Aes128,
    subkey: u128,
}

impl PeerKey {
    fn new(key: [u8; 16]) -> PeerKey {
        let cipher = Aes128::new(&key.into());
        let mut zero = aes_peer::Block::default();
        cipher.encrypt_block(&mut zero);
        let value = u128::from_be_bytes(zero.into());
        let subkey = (value << 1) ^ if value >> 127 == 1 { 0x87 } else { 0 };
        PeerKey { cipher, subkey: subkey.to_be() }
    }

    fn mask(&self, block: &mut aes_peer::Block) {
        *block = (u128::from_ne_bytes((*block).into()) ^ self.subkey).to_ne_bytes().into();
    }
}

fn key(number: usize) -> [u8; 16] {
    [number as u8 + 1; 16]
}

/// This crate's code, with a method of an `AesCmac` object.
struct Ours {
    _object: Arc<dyn NativeExtern>,
    method: BlockMethod,
    keys: Vec<*const std::ffi::c_void>,
}

impl Ours {
    fn new(vdp: &VirtualDataPlane) -> Ours {
        let control = vdp.control();
        for number in 0..BLOCKS {
            control.key_table("mac").unwrap().set_key(number as u64, &key(number)).unwrap();
        }
        let object = control.named_extern("mac").unwrap();
        let native = object.native();
        let method = native.block.expect("one method of one block");
        // SAFETY: the state is the object's, which lives here, and no key changes.
        let keys = (0..BLOCKS).map(|number| unsafe { (method.prepare)(native.state, number as u64) }).collect();
        Ours { _object: object, method, keys }
    }

    fn one_key(&self, blocks: &mut [Block]) {
        // SAFETY: the key is of `prepare`; there are as many blocks.
        unsafe { (self.method.run_all)(self.keys[0], blocks.as_mut_ptr(), blocks.len()) };
    }

    fn key_each(&self, blocks: &mut [Block]) {
        for (block, key) in blocks.iter_mut().zip(&self.keys) {
            // SAFETY: the key is of `prepare`.
            *block = unsafe { (self.method.run)(*key, block.first, block.second) };
        }
    }
}

fn peer_one_key(key: &PeerKey, blocks: &mut [aes_peer::Block]) {
    blocks.iter_mut().for_each(|block| key.mask(block));
    key.cipher.encrypt_blocks(blocks);
}

fn peer_key_each(keys: &[PeerKey], blocks: &mut [aes_peer::Block]) {
    for (block, key) in blocks.iter_mut().zip(keys) {
        key.mask(block);
        key.cipher.encrypt_block(block);
    }
}

fn time(run: &mut dyn FnMut()) -> Duration {
    let start = Instant::now();
    (0..BATCHES).for_each(|_| run());
    start.elapsed()
}

/// The fastest round of each, in turns.
fn compare(what: &str, ours: &mut dyn FnMut(), peer: &mut dyn FnMut()) {
    let mut best = [Duration::MAX; 2];
    for round in 0..ROUNDS {
        // Neither always goes first.
        for side in [round % 2, 1 - round % 2] {
            let elapsed = if side == 0 { time(ours) } else { time(peer) };
            best[side] = best[side].min(elapsed);
        }
    }
    let [ours, peer] = best.map(|time| time.as_nanos() as f64 / (BATCHES * BLOCKS) as f64);
    println!("{what:<26} ours {ours:6.2} ns a block   aes crate {peer:6.2} ns a block   crate/ours {:.2}", peer / ours);
}

fn main() {
    let compiled = compile_text("mac.p4", PROGRAM, &Default::default(), true);
    let pipeline = compiled.pipeline.expect("the program compiles");
    let vdp = VirtualDataPlane::new(Arc::new(pipeline), EngineKind::Jit).expect("it runs");
    let ours = Ours::new(&vdp);
    let peers: Vec<PeerKey> = (0..BLOCKS).map(|number| PeerKey::new(key(number))).collect();
    let mut blocks: Vec<Block> = (0..BLOCKS as u64).map(|n| Block { first: n, second: !n }).collect();
    let mut peer_blocks: Vec<aes_peer::Block> =
        blocks.iter().map(|b| (u128::from(b.second) << 64 | u128::from(b.first)).to_le_bytes().into()).collect();
    let same = |ours: &[Block], peer: &[aes_peer::Block]| {
        ours.iter()
            .zip(peer)
            .all(|(a, b)| u128::from_le_bytes((*b).into()) == u128::from(a.second) << 64 | u128::from(a.first))
    };
    compare("32 blocks, one key", &mut || ours.one_key(black_box(&mut blocks)), &mut || {
        peer_one_key(&peers[0], black_box(&mut peer_blocks))
    });
    assert!(same(&blocks, &peer_blocks), "both compute the same");
    compare("32 blocks, a key for each", &mut || ours.key_each(black_box(&mut blocks)), &mut || {
        peer_key_each(&peers, black_box(&mut peer_blocks))
    });
    assert!(same(&blocks, &peer_blocks), "both compute the same");
}
