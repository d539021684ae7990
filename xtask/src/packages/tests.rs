//! Each of the questions is answered "no" once.

use super::{Policy, check_program};

const POLICY: &str = "[licenses]\nallow = [\n  \"MIT\", # why\n  \"A WITH B\",\n]\n\
    [bans]\ndeny = [{ crate = \"bad\" }]\n[sources]\nallow-registry = [\"https://here\"]\n";

fn policy() -> Policy {
    Policy::parse(POLICY).expect("a policy")
}

#[test]
fn a_banned_or_foreign_package_is_found() {
    let lock = "[[package]]\nname = \"bad\"\n[[package]]\nname = \"x\"\nsource = \"git+https://x\"\n\
        [[package]]\nname = \"y\"\nsource = \"registry+https://here\"\n";
    let (count, problems) = policy().check_lock(lock);
    assert_eq!((count, problems.len()), (3, 2), "{problems:?}");
}

#[test]
fn a_licence_must_be_met() {
    for good in [
        "MIT",
        "MIT OR GPL-3.0",
        "GPL-3.0/MIT",
        "(GPL-3.0 OR MIT) AND A WITH B",
    ] {
        assert!(policy().permits(good), "{good}");
    }
    for bad in ["GPL-3.0", "MIT AND GPL-3.0", "", "A", "MIT MIT"] {
        assert!(!policy().permits(bad), "{bad}");
    }
    assert_eq!(
        policy()
            .check_licences("p v1|GPL-3.0\nq v1|MIT (*)\n")
            .len(),
        1
    );
}

#[test]
fn the_program_is_without_what_is_for_tests() {
    // Proves: neither the kit nor an explorer of power cuts gets into the program unseen.
    let good = "ashlar-cli v1|\nashlar-dm v1 (/x)| (*)\nother v1|explore\n";
    assert_eq!(check_program(good), [""; 0]);
    for bad in [
        "ashlar-testkit v1|",
        "ashlar-dm v1 (/x)|default,explore (*)",
    ] {
        assert_eq!(check_program(bad).len(), 1, "{bad}");
    }
}

#[test]
fn an_empty_policy_is_refused() {
    assert!(Policy::parse("[licenses]\n").is_err());
}
