//! Integration tests of `hopwright-ports`, in one program.

mod af_packet;
mod af_xdp;
#[path = "../../../../compiler/ir/tests/it/builder/mod.rs"]
mod builder;
mod devices;
mod flows;
mod frame_match;
mod offloads;
mod queues;
mod reception;
mod segmentation;
mod switch;
mod tap;
mod udp;
mod workers;
mod xdp_hand_over;
