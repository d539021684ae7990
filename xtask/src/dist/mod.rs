//! `cargo xtask dist`: what users install.
//!
//! ```text
//!   build.rs     a static, stripped binary               target/ashlar-dist/ashlar
//!   files.rs     what stands beside it, in its place     target/ashlar-dist/root/usr/…
//!   package.rs   a Debian package of that                target/ashlar-dist/ashlar_VERSION_*.deb
//! ```
//!
//! The same sources give the same bytes: every file carries the time of the commit.

mod build;
mod files;
mod package;
mod run;

pub(crate) use run::run;
