//! Origins and their snapshots, step by step and in long histories.

mod at_home;
mod hand;
mod mend;
mod merge;
mod overflow;
mod random;
mod reload;
mod writes;
