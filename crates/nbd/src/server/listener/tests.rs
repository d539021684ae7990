//! Where listeners say that they are, and what is said of places that cannot be had.

use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};

use block::Kind;

use super::{ACTIVATION_FD_COUNT_MAX, Listener, State, handed_over};

/// A port is told to whoever asks, and written as addresses are; IPv6 needs brackets.
#[test]
fn ports_are_told() {
    for (address, is_v6) in [("127.0.0.1:0", false), ("[::1]:0", true)] {
        let listener = match Listener::tcp(address) {
            // Machines without IPv6 have none to test.
            Err(_) if is_v6 => continue,
            listener => listener.expect("a free port"),
        };
        let port = listener.port().expect("it was opened here");
        assert_eq!((port.is_ipv6(), port.ip().is_loopback()), (is_v6, true));
        assert_ne!(port.port(), 0);
        assert_eq!(listener.uri(""), format!("nbd://{port}/"));
        assert!(listener.path().is_none());
        let taken = Listener::tcp(&port.to_string()).expect_err("somebody listens there");
        assert_eq!(taken.kind(), Kind::Open, "{taken}");
    }
    // What has no port gets the one for NBD: the host is all of it.
    for (address, host_and_port) in [
        ("[::2]", "[::2]"),
        ("::2", "::2"),
        ("192.0.2.1", "192.0.2.1"),
    ] {
        let error = Listener::tcp(address).expect_err("no address of this machine");
        assert_eq!(error.kind(), Kind::Io, "{error}");
        assert!(error.to_string().contains(host_and_port), "{error}");
    }
}

/// A socket that somebody listens on, a file, and a folder that is not there are told apart.
#[test]
fn socket_paths_are_told_apart() {
    let folder = std::env::temp_dir().join(format!("ashlar-listener-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("socket");
    let listener = Listener::unix(&path).expect("a free path");
    assert_eq!((listener.path(), listener.port()), (Some(&*path), None));
    let taken = Listener::unix(&path).expect_err("somebody listens there");
    let file = folder.join("file");
    std::fs::write(&file, "mine").expect("a file");
    let other = Listener::unix(&file).expect_err("a file is no socket");
    let kept = std::fs::read(&file).expect("it is still there");
    let missing = Listener::unix(folder.join("none/socket")).expect_err("no folder");
    // Somebody else's socket of the same name stays.
    std::fs::remove_file(&path).expect("it is there");
    let theirs = UnixListener::bind(&path).expect("a free path");
    drop(listener);
    let stays = path.exists();
    drop(theirs);
    std::fs::remove_dir_all(&folder).expect("it goes");
    assert_eq!((taken.kind(), other.kind()), (Kind::Open, Kind::Open));
    assert_eq!((missing.kind(), &kept[..]), (Kind::Io, &b"mine"[..]));
    assert!(stays);
}

/// What is handed over listens, is a client, or is refused; nobody but the parent knows where.
#[test]
fn what_is_handed_over_is_looked_at() {
    let (one, _other) = UnixStream::pair().expect("two sockets");
    let client = Listener::given(one.into()).expect("a client");
    assert_eq!(client.state, State::Connected);
    let file: OwnedFd = std::fs::File::open("/dev/null").expect("opens").into();
    let error = Listener::given(file).expect_err("no socket");
    assert_eq!(error.kind(), Kind::Invalid);
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let given = Listener::given(tcp.into()).expect("listens");
    assert_eq!(given.state, State::Listening);
    assert_eq!((given.uri("a"), given.port()), (String::new(), None));
    assert!(given.path().is_none());
}

/// Sockets are taken if they are for this process and there are some, but not too many.
#[test]
fn activation_is_for_one_process() {
    let max = ACTIVATION_FD_COUNT_MAX;
    for (pid, count, wanted) in [
        (Some(7), Some(1), Some(1)),
        (Some(7), Some(max), Some(max)),
        (Some(7), Some(max + 1), None),
        (Some(7), Some(0), Some(0)),
        (Some(7), Some(-1), Some(0)),
        (Some(7), None, Some(0)),
        (None, Some(1), Some(0)),
        (Some(8), Some(1), Some(0)),
        (Some(8), Some(max + 1), Some(0)),
    ] {
        let found = handed_over(7, pid, count);
        assert_eq!(found.ok(), wanted, "{pid:?} {count:?}");
    }
}
