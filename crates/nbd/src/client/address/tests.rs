//! Addresses under TLS, and what is escaped in them.

use std::path::{Path, PathBuf};

use super::Address;
use crate::wire::constants::STRING_LEN_MAX;

/// What an address says of certificates is read, and a folder that is named stays.
#[test]
fn secrets_are_read() {
    let query = "tls-certificates=/etc/a%20b&tls-hostname=disk.example";
    for (uri, hostname) in [
        (format!("nbds://h:1/e?{query}"), "disk.example"),
        (format!("nbds+unix:///e?socket=/s&{query}"), "disk.example"),
        ("nbds://h:1/e".to_owned(), "h"),
        ("nbds+unix:///e?socket=/s".to_owned(), "localhost"),
    ] {
        let address = Address::parse(&uri).expect("an address");
        assert_eq!(
            (address.hostname(), address.export()),
            (hostname, "e"),
            "{uri}"
        );
        let named = uri.contains("tls").then(|| PathBuf::from("/etc/a b"));
        let secrecy = address.secrecy.clone().expect("it asks for TLS");
        assert_eq!(secrecy.certificates, named, "{uri}");
        let with = address.clone().with_certificates("/other".into());
        let certificates = with.secrecy.expect("still").certificates;
        assert_eq!(certificates, named.or(Some("/other".into())), "{uri}");
        assert!(address.to_string().starts_with("nbds"), "{address}");
        let changed = address.secured(Some("/third".into()));
        assert_eq!(changed.hostname(), hostname, "the name stays");
    }
    let plain = Address::parse("nbd://h/e?tls-hostname=x").expect("an address");
    assert_eq!((plain.hostname(), plain.socket()), ("h", None));
    let still = plain.clone().with_certificates("/other".into());
    assert_eq!(still, plain, "without TLS there is nothing to certify");
    let unix = Address::unix("/s", "e");
    assert_eq!(unix.socket(), Some(Path::new("/s")));
}

/// Whatever a name is, its address is read back as it was.
#[test]
fn names_are_escaped() {
    for name in [
        "", "a", "vg/lv", "a b", "50%", "a?b&c=d", "ä", "~-._", "a:b@[c]",
    ] {
        for address in [
            Address::unix("/run/a b/s?", name),
            Address::tcp("::1", 7, name),
        ] {
            let text = address.to_string();
            let read = Address::parse(&text).expect("an address");
            assert_eq!(read, address, "{text}");
        }
    }
    assert_eq!(Address::tcp("h", 7, "a b").to_string(), "nbd://h:7/a%20b");
    let longest = "x".repeat(STRING_LEN_MAX);
    Address::parse(&format!("nbd://h/{longest}")).expect("as long as a name may be");
    for bad in [
        &format!("nbd://h/{longest}x"),
        "nbd://h/%",
        "nbd://h/%4",
        "nbd://h/%zz",
        "nbd://h/%ff",
        "nbd://[::1/e",
        "nbd://h:65536/e",
        "nbd+unix://e?socket=/s",
        "nbds://h/e?tls-hostname=%ff",
    ] {
        Address::parse(bad).expect_err(bad);
    }
}
