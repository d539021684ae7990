//! Errors of the libraries as other programs print them: each link of the chain of sources, as the
//! usual reporters do.

use std::error::Error;
use std::io;

use ashlar::{Kind, open};
use tests::Scratch;

/// The texts of an error and of all its sources.
fn chain(error: &(dyn Error + 'static)) -> Vec<String> {
    let links = std::iter::successors(Some(error), |error| (*error).source());
    links.map(ToString::to_string).collect()
}

fn assert_nothing_twice(error: &(dyn Error + 'static)) {
    let texts = chain(error);
    for (at, text) in texts.iter().enumerate() {
        for other in &texts[at + 1..] {
            let repeats = text.contains(&**other) || other.contains(&**text);
            assert!(!repeats, "{texts:#?} say something twice");
        }
    }
}

/// A cause that does not tell its own cause, as the standard library wants it.
#[derive(Debug)]
struct Quiet(io::Error);

impl std::fmt::Display for Quiet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the cable is loose")
    }
}

impl Error for Quiet {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

#[test]
fn no_link_of_a_chain_repeats_another() {
    // Proves: whoever prints an error and its sources reads each thing once, and all of it, for
    // the errors of every library on top of those below.
    let lowest = || block::Error::io("sda: cannot read", io::Error::from_raw_os_error(5));
    let of_table = || dm::Error::device("vg0-data", lowest());
    let of_host = ashlar::Error::new(Kind::Device, "vg0/data cannot be opened").because(of_table());
    for error in [&lowest() as &dyn Error, &of_table(), &of_host] {
        assert_nothing_twice(error);
        let told = chain(error).join(": ");
        assert!(told.contains("cannot read: Input/output error"), "{told}");
    }
    let wrapped = io::Error::from(lowest());
    assert_nothing_twice(&wrapped);
    let of_lab = ::lab::error::Error::io("a.toml", io::Error::from(io::ErrorKind::NotFound));
    assert_nothing_twice(&of_lab);
    let of_bytes = lvm2::Error::new(lvm2::Kind::Label, "sector 1: no label");
    assert_nothing_twice(&ashlar::Error::from(of_bytes));
}

#[test]
fn what_a_cause_leaves_out_comes_behind_it() {
    // Proves: the chain goes on behind the cause that is shown already.
    let cause = Quiet(io::Error::other("pin 3"));
    let error = ashlar::Error::new(Kind::Device, "sda cannot be read").because(cause);
    assert_eq!(
        chain(&error),
        ["sda cannot be read: the cable is loose", "pin 3"]
    );
    assert!(error.cause().is_some_and(|cause| cause.is::<Quiet>()));
}

#[test]
fn real_failures_say_nothing_twice() {
    // Proves: the same of what the library says of disks that are not there or hold nothing.
    let scratch = Scratch::new("errors");
    let missing = scratch.join("missing.img");
    let empty = scratch.join("empty.img");
    std::fs::write(&empty, vec![0; 1 << 20]).expect("is written");
    for path in [missing, empty] {
        let name = path.to_str().expect("a name of letters");
        let opened = open([name]).and_then(|host| host.group("vg0").map(|_| ()));
        assert_nothing_twice(&opened.expect_err("there is no group"));
    }
}
