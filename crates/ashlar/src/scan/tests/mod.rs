//! Scans of disks in every state.

mod arrays;
mod disks;
mod hostile;
