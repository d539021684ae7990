//! What people type.

fn main() {}
