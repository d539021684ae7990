//! What is said of a binary.

use super::needs_loader;

#[test]
fn a_program_of_this_machine_needs_a_loader() {
    // Proves: this very test, which cargo links dynamically, is seen through; so is what is no ELF
    // file, and one that is cut off.
    let own = std::env::current_exe()
        .and_then(std::fs::read)
        .expect("it runs");
    assert!(needs_loader(&own));
    assert!(needs_loader(b"#!/bin/sh\n"));
    assert!(needs_loader(&own[..60]));
}

#[test]
fn no_header_names_a_loader() {
    // Proves: a file whose program headers are of other kinds is taken for static.
    let mut elf = vec![0; 64 + 2 * 56];
    elf[..5].copy_from_slice(b"\x7fELF\x02");
    elf[32] = 64;
    elf[54] = 56;
    elf[56] = 2;
    elf[64] = 1;
    elf[64 + 56] = 2;
    assert!(!needs_loader(&elf));
    elf[64 + 56] = 3;
    assert!(needs_loader(&elf));
}
