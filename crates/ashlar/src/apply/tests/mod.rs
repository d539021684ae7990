//! Tests of changes: on files, with locks, questions, refusals and backups.

mod bench;
mod contents;
mod ended;
mod files;
mod foreseen;
mod in_use;
mod opened;
mod served;
mod words;
