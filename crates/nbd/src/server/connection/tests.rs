//! A handshake ends in time, whatever the client takes and gives.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::wire::OptionHeader;
use crate::wire::constants::OPT_LIST;
use block::memory::MemoryDevice;

use crate::server::{Access, Export, Exports, Limits, Server};

/// A description that makes the answer to a question of 16 bytes long.
const ANSWER: usize = 4000;
const QUESTIONS: usize = 4000;
/// What the client takes at once, and its pause then.
const PIECE: usize = 64 << 10;
const PAUSE: Duration = Duration::from_millis(20);

#[test]
fn a_client_that_takes_little_does_not_stretch_the_handshake() {
    // Proves: the deadline holds while answers leave, though each call that sends gets some away;
    // the client would take 16 MB, and gets at most what leaves in a tenth of a second and what
    // the socket holds.
    let exports = Exports::new();
    let made = exports.add(Export {
        name: "a".to_owned(),
        description: "d".repeat(ANSWER),
        access: Access::ReadWrite,
        device: Arc::new(MemoryDevice::new("a", 4096)),
    });
    made.expect("a name of its own");
    let limits = Limits {
        handshake: Duration::from_millis(100),
        ..Limits::default()
    };
    let server = Server::with_limits(exports, limits).expect("a server");
    let (mut client, theirs) = UnixStream::pair().expect("two ends");
    server.serve(theirs.into()).expect("a connection");
    let mut questions = 3_u32.to_be_bytes().to_vec();
    for _ in 0..QUESTIONS {
        OptionHeader::encode(&mut questions, OPT_LIST, b"");
    }
    let mut sender = client.try_clone().expect("a second handle");
    let sending = thread::spawn(move || sender.write_all(&questions));
    let (mut piece, mut taken) = (vec![0; PIECE], 0);
    while let Ok(len @ 1..) = client.read(&mut piece) {
        taken += len;
        thread::sleep(PAUSE);
    }
    assert!(taken < QUESTIONS * ANSWER / 8, "{taken} bytes were sent");
    // It was told, or had given everything by then.
    let _ = sending.join().expect("it sends");
}
