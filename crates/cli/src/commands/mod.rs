//! One file for each command, and what all of them share.
//!
//! `dispatch` finds the command by the binary's name or its first argument and turns errors into
//! messages and exit statuses; `session` is what a command may use: output, messages, and the
//! disks; `catalogue` lists the commands.

mod absent;
mod activity;
mod attach;
mod background;
mod cat;
mod catalogue;
mod change;
mod command_log;
mod cp;
mod demo;
mod detach;
mod devtypes;
mod dispatch;
mod display;
mod explain;
mod facts;
mod fullreport;
mod help;
mod history;
mod interrupt;
mod lab;
mod lvdisplay;
mod lvmconfig;
mod lvmdevices;
mod lvmdiskscan;
mod lvmdump;
mod lvs;
mod lvscan;
mod md;
mod nodes;
mod obsolete;
mod open;
mod own;
mod owners;
mod private_folder;
mod pvck;
mod pvdisplay;
mod pvs;
mod pvscan;
mod receive;
mod report;
mod rows;
mod run;
mod scrub;
mod segments;
mod selected;
mod send;
mod serve;
mod session;
mod shell;
mod snapshot;
mod stop;
mod sync;
mod version;
mod vgcfgbackup;
mod vgck;
mod vgdisplay;
mod vgimportclone;
mod vgimportdevices;
mod vgmknodes;
mod vgs;
mod vgscan;
mod warnings;

#[cfg(test)]
pub(crate) use catalogue::{arguments_of, command_of};
pub(crate) use change::{Caller, Terminal, perform};
pub(crate) use dispatch::{device_arguments, is_called_as_lvm2, main};
pub(crate) use private_folder::PrivateFolder;
pub(crate) use session::{Disks, Session};
