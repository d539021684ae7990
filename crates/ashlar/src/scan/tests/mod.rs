//! Scans of disks in every state.

mod disks;
mod hostile;
