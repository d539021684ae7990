//! Workloads: the operation streams of the programs that people measure with.
