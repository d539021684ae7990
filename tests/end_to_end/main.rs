//! End-to-end tests of the built program, one module for each area.
//!
//! The bench they work on is the library of this package; see its first page. A module holds what
//! belongs together to a user: a command, an export, a promise.

mod active;
mod advice;
mod attach;
mod bench;
mod changes;
mod classes;
mod clients;
mod clones;
mod commands;
mod cookbook;
mod crashes;
mod decisions;
mod demo;
mod devices_file;
mod durability;
mod filesystems;
mod handover;
mod image_use;
mod kernel;
mod lab;
mod layouts;
mod limits;
mod locks;
mod logical;
mod manual;
mod measure;
mod minimise;
mod mishaps;
mod missing;
mod moves;
mod names;
mod nbd;
mod network;
mod origins;
mod outside;
mod owner;
mod package;
mod plans;
mod reports;
mod reproducible;
mod resizefs;
mod rings;
mod run;
mod salvage;
mod scripts;
mod sequence;
mod shrinking;
mod shrunk;
mod snapshots;
mod streams;
mod survive;
mod traces;
mod volumes;
