//! One look is kept until it is forgotten.

use std::cell::Cell;
use std::rc::Rc;

use ashlar::apply::{Disks, NamedDisks, Opened};
use ashlar::host::Host;
use ashlar::scan::{FoundDevice, Scan};
use block::file::Claim;

use super::Look;

/// No disks; counts how often they are looked at.
struct Counted {
    looks: Rc<Cell<usize>>,
    none: NamedDisks,
}

impl Disks for Counted {
    fn scan(&self, host: &Host) -> ashlar::Result<Scan> {
        self.looks.set(self.looks.get() + 1);
        self.none.scan(host)
    }

    fn open(&self, found: &FoundDevice, claim: Claim) -> ashlar::Result<Opened> {
        self.none.open(found, claim)
    }
}

/// Whoever asks again gets the same look; after a change, a new one.
#[test]
fn one_look_serves_all_until_it_is_forgotten() {
    let looks = Rc::new(Cell::new(0));
    let look = Look::new(Box::new(Counted {
        looks: Rc::clone(&looks),
        none: NamedDisks::default(),
    }));
    let host = Host::from_environment().expect("there is a configuration");
    assert!(look.kept().is_none());
    let first = look.scan(&host).expect("it is in memory");
    let second = look.scan(&host).expect("it is in memory");
    assert!(Rc::ptr_eq(&first, &second));
    assert!(look.kept().is_some());
    assert_eq!(looks.get(), 1);
    assert!(look.forget().is_some());
    assert!(look.forget().is_none());
    look.scan(&host).expect("it is in memory");
    assert_eq!(looks.get(), 2);
}
