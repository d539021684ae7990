//! The binary: static, so that it runs on any Linux of the same processor, without a C library.
//!
//! It is linked with musl where rustup has or gets that target, else with the C library of this
//! machine (`crt-static`). What C there is (in `ring`) needs none of the library's headers but
//! `string.h`, so that the machine's own compiler does for musl, too; fortified calls of glibc's
//! headers are switched off.

use std::path::PathBuf;
use std::process::Command;

use crate::tidy::root;

const MUSL: &str = "x86_64-unknown-linux-musl";
const GNU: &str = "x86_64-unknown-linux-gnu";
/// The kind of a program header that names a dynamic loader, in ELF.
const PT_INTERP: u32 = 3;

/// Builds the binary and checks what is promised of it.
pub(super) fn build(size_max: u64) -> Result<PathBuf, String> {
    let (target, flags) = if has_musl() {
        (MUSL, "")
    } else {
        println!("dist: rustup has no {MUSL}; linking with this machine's C library");
        (GNU, "-C target-feature=+crt-static")
    };
    let status = Command::new("cargo")
        .current_dir(root())
        .args(["build", "--locked", "--profile", "dist", "-p", "ashlar-cli"])
        .args(["--target", target])
        .env("RUSTFLAGS", flags)
        .env("CC_x86_64_unknown_linux_musl", "cc")
        .env("CFLAGS_x86_64_unknown_linux_musl", "-U_FORTIFY_SOURCE")
        .status()
        .map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !status.success() {
        return Err(format!("cargo build ended with {status}"));
    }
    let binary = crate::target_folder().join(target).join("dist/ashlar");
    let bytes = std::fs::read(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    let size = bytes.len() as u64;
    println!("dist: {size} bytes for {target}");
    if size > size_max {
        return Err(format!(
            "the binary has {size} bytes; {size_max} are allowed"
        ));
    }
    if needs_loader(&bytes) {
        return Err("the binary is not static: it names a dynamic loader".to_owned());
    }
    Ok(binary)
}

/// Whether the target is there, now at the latest.
fn has_musl() -> bool {
    let mut rustup = Command::new("rustup");
    let added = rustup.args(["target", "add", MUSL]).status();
    added.is_ok_and(|status| status.success())
}

/// Whether an ELF file of 64 bits has a program header of the kind `PT_INTERP`. Anything that is
/// no such file counts as needing one.
pub(super) fn needs_loader(elf: &[u8]) -> bool {
    let number = |at: usize, len: usize| -> Option<u64> {
        let bytes = elf.get(at..at.checked_add(len)?)?;
        let little_endian = bytes.iter().rev();
        Some(little_endian.fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
    };
    let kinds = || -> Option<Vec<u64>> {
        if elf.get(..4)? != b"\x7fELF" || number(4, 1)? != 2 {
            return None;
        }
        let (start, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        (0..count)
            .map(|index| number(usize::try_from(start + index * size).ok()?, 4))
            .collect()
    };
    kinds().is_none_or(|kinds| kinds.contains(&u64::from(PT_INTERP)))
}

#[cfg(test)]
mod tests;
