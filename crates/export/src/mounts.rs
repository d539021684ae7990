//! Where devices are mounted, as far as this process's mount namespace shows it (proc(5)).

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dev, major, minor};

/// Where the block device with this number is mounted. Of one that holds a part of a file system of
/// several devices nothing is known: such a file system has a number of its own.
pub fn place_of(device: Dev) -> Option<PathBuf> {
    mounted_at(
        &std::fs::read("/proc/self/mountinfo").ok()?,
        &number(device),
    )
}

/// Whether the block device `node` is mounted, swapped to, or a part of another device, as far as
/// the kernel lists it. It is not opened: who opened it alone for that would keep a mount from it
/// at that moment.
pub fn is_claimed(node: &Path) -> bool {
    let Ok(found) = std::fs::metadata(node) else {
        return false;
    };
    let number = number(found.rdev());
    let holders = std::fs::read_dir(format!("/sys/dev/block/{number}/holders"));
    if holders.is_ok_and(|mut holders| holders.next().is_some()) {
        return true;
    }
    let read = |path: &str| std::fs::read(path).unwrap_or_default();
    is_listed(&read("/proc/self/mountinfo"), node, &number)
        || lines(&read("/proc/swaps")).any(|mut words| words.next() == Some(name(node)))
}

/// Whether a list of mounts has one of the device `number`, which is `node`. btrfs gives its mounts
/// numbers of no device, and names one of its devices as the source.
fn is_listed(mounts: &[u8], node: &Path, number: &str) -> bool {
    lines(mounts).any(|words| {
        let words: Vec<&[u8]> = words.collect();
        let dash = words.iter().position(|word| *word == b"-");
        let source = dash.and_then(|dash| words.get(dash + 2));
        words.get(2) == Some(&number.as_bytes()) || source == Some(&name(node))
    })
}

fn number(device: Dev) -> String {
    format!("{}:{}", major(device), minor(device))
}

fn name(node: &Path) -> &[u8] {
    node.as_os_str().as_bytes()
}

fn lines(text: &[u8]) -> impl Iterator<Item = impl Iterator<Item = &[u8]>> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.map(|line| line.split(|byte| *byte == b' '))
}

/// Where the device `number` (`7:3`) is mounted, by a list as the kernel writes it.
fn mounted_at(mounts: &[u8], number: &str) -> Option<PathBuf> {
    let mut lines = lines(mounts).map(|words| {
        let mut words = words.skip(2);
        (words.next(), words.nth(1))
    });
    let found = lines.find(|(device, _)| *device == Some(number.as_bytes()));
    found.and_then(|(_, path)| Some(PathBuf::from(OsString::from_vec(unescaped(path?)))))
}

/// A path out of a list of mounts, where the kernel writes blanks, tabs, newlines, backslashes and
/// `#` as a backslash and three octal digits.
pub fn unescaped(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let [first, tail @ ..] = rest {
        let number = tail.first_chunk::<3>().filter(|_| *first == b'\\');
        let number = number.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = number.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[3..] } else { tail };
    }
    bytes
}

#[cfg(test)]
mod tests;
