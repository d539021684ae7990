//! Tests of changes: on files, with locks, questions, refusals and backups.

mod files;
mod words;
