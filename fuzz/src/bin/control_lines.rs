//! Lines of a control socket: whatever a client or an owner says is understood or refused, and
//! what is understood can be said again and means the same.
#![no_main]

use ashlar::live::wire::{LINE_MAX, Reply, decode_reply, decode_request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = decode_request(bytes) {
        let line = request.to_line();
        assert_eq!(line.last(), Some(&b'\n'));
        if line.len() <= LINE_MAX {
            let again = decode_request(&line[..line.len() - 1]);
            assert_eq!(again.expect("it was said here"), request);
        }
    }
    if let Ok(reply) = decode_reply(bytes) {
        let lines = reply.to_line();
        // Long texts become several lines, or are cut.
        if let Reply::Out(_) | Reply::Err(_) | Reply::Ask(_) | Reply::Error(_) = reply {
            return;
        }
        if lines.len() <= LINE_MAX {
            let again = decode_reply(&lines[..lines.len() - 1]);
            assert_eq!(again.expect("it was said here"), reply);
        }
    }
});
