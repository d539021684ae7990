//! Emulated disks: pure models that a clock drives.
