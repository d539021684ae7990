//! Serves a volume over NBD, and reads it back through the socket.
//!
//! Server and client are in one process and speak through a unix socket, as two would; where the
//! tools of libnbd or qemu are installed, they read it as well.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use nbd::client::NbdDevice;
use nbd::server::{Access, Export, Exports, Listener, Server};

use super::disks::{GROUP, known_volume};
use super::interrupt::Interrupt;
use super::process;
use super::story::Story;
use super::volumes::{compare, hash, hash_file, open};
use crate::args::Error;
use crate::commands::Disks;

/// The volume that is served: two and then three stripes, the hardest to get right.
const NAME: &str = "stripe2x";
/// How long clients have for fetching their last answers.
const GRACE: Duration = Duration::from_secs(2);

/// Serves and reads; `folder` takes the socket, and copies for as long as they are compared.
pub(super) fn serve_and_read(
    story: &mut Story<'_>,
    disks: &Disks,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<(), Error> {
    let failed = |error: block::Error| Error::failed(error.to_string());
    let known = known_volume(NAME);
    let volume = open(disks, NAME).map_err(|error| Error::failed(error.to_string()))?;
    let full_name = format!("{GROUP}/{NAME}");
    let socket = folder.join("nbd.sock");
    story.command(&format!(
        "ashlar serve --readonly {full_name} --nbd unix:{} &",
        socket.display()
    ))?;
    let exports = Exports::new();
    exports
        .add(Export {
            name: full_name.clone(),
            description: String::new(),
            access: Access::ReadOnly,
            device: Arc::new(volume),
        })
        .map_err(failed)?;
    let server = Server::new(exports).map_err(failed)?;
    let listener = Listener::unix(&socket).map_err(failed)?;
    let uri = listener.uri(&full_name);
    server.listen(listener).map_err(failed)?;
    story.say(&uri)?;
    let client = NbdDevice::open(&uri).map_err(failed)?;
    compare(known, &hash(&client, interrupt)?, "the NBD export")?;
    drop(client);
    story.good("our own client: same as the kernel saw")?;
    let copy = folder.join("copy");
    let target = copy.display().to_string();
    let tools: [(&str, &[&str]); 2] = [
        ("nbdcopy", &[&uri, &target]),
        (
            "qemu-img",
            &["convert", "-f", "raw", "-O", "raw", &uri, &target],
        ),
    ];
    for (tool, words) in tools {
        interrupt.check()?;
        if !process::is_installed(tool) {
            story.left_out(&format!("{tool}: left out, it is not installed"))?;
            continue;
        }
        let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let line = format!("{tool} {}", quoted.join(" "));
        story.command(&line)?;
        process::run(Command::new(tool).args(words), &line)?;
        compare(known, &hash_file(&copy, interrupt)?, tool)?;
        std::fs::remove_file(&copy)?;
        story.good(&format!("{tool}: same as the kernel saw"))?;
    }
    server.stop(GRACE);
    Ok(())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    if word.contains(['?', '&', '*', ' ']) {
        format!("'{word}'")
    } else {
        word.to_owned()
    }
}
