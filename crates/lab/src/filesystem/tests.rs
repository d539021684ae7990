//! Tests: single calls, random calls against oracles, and the parts against naive ones.

mod calls;
mod oracles;
mod parts;
mod programs;
mod shapes;
