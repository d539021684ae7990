//! What people type.
//!
//! `args` understands it, a file in `commands` does it, `output` shows what came of it.
//! `demo` shows all of it on bundled disks.

mod args;
mod attachment;
mod commands;
mod demo;
mod live;
mod output;

fn main() -> std::process::ExitCode {
    commands::main(std::env::args_os())
}
