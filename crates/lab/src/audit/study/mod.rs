//! A published study, written down so that it can be checked: its tables and what it says of them.
//!
//! ```text
//!   study seed 000
//!   repetitions unstated
//!   memory unstated
//!   test Test 1: files=4000 size=1000..100000 transactions=50000
//!   unit MB/s
//!   configurations ext3 LVM-1 LVM-2
//!   read 2.99 1.83 1.21
//!   write 3.49 2.14 1.42
//!   volumes 1.6 1.8 GB
//!   claim A.T1a: Test 1: ext3 by LVM-1 is 1.63
//!   claim A.X2: LVM-2 is slower than ext3 in 2 of 3
//!   claim A.H2: mapping explains LVM-1 over ext3
//!   claim A.X1: mapping of LVM-1 over ext3 grows from Test 1 to Test 3
//!   claim A.C30: Test 3: size=100000..300000
//!   claim D.3: fio reaches 3500
//!   table Bonnie on ext2
//!   columns block rewrite
//!   row HD1 20073 9070
//!   row LVM 32048 6138
//!   claim B.5: Bonnie on ext2: LVM by HD1 in block is 1.60
//!   spindle 7200 turns, 1900 GB, queue 1: 600
//! ```
//!
//! Tests are `PostMark`'s: their volumes follow from their settings. Other tables are only rows and
//! columns; factors that are claimed of them are recomputed, to their last digit.
//!
//! `parse.rs` reads, `check.rs` checks tables, `claims.rs` what is said of them.

mod check;
mod claims;
mod parse;

pub(super) use check::check;
pub(super) use parse::parse;
