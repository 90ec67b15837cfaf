//! EPIC ("every packet is checked", Legner et al., USENIX Security 2020), levels 0 to 3: what hosts and a router's control plane
//! need. The router itself is `p4/epic/epic_router.p4`, which has the packet format.
//!
//! - [`Key`] and [`drkey`]: an AS's keys, and the keys that ASes and hosts share.
//! - [`Path`]: hops that ASes have authorised, as a host gets them.
//! - [`Packet`]: encoding and decoding. [`source::seal`] makes one that routers accept, [`receiver::Receiver`] checks
//!   what arrives at the destination, [`source::Sealed::check`] reads its receipt: at level 3 both know that the packet took the path.
//! - [`network`]: paths, keys and router entries of a network that one file describes.
//! - [`router`]: the program that is built in, and its tables.

mod cipher;
pub mod destination;
pub mod drkey;
mod key;
pub mod network;
mod packet;
mod path;
pub mod receiver;
pub mod router;
mod sem_tables;
pub mod source;

pub use cipher::{Cipher, sem};
pub use key::Key;
pub use packet::{ETHERTYPE, Hop, Host, Info, IsdAs, Level, Malformed, Packet, Segment};
pub use path::{AuthorisedHop, BeaconHop, Path, PathSegment};
pub use sem_tables::{BOXES as SEM_BOXES, SOURCES as SEM_SOURCES};
