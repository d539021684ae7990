//! TLS of what is served: the flags, and what they come to.

use std::path::Path;

use nbd::server::{Listener, Secrecy, Tls};
use nbd::tls::{Peers, Security, exposed_keys};

use crate::args::{Arguments, Error, Flag, flags};
use crate::commands::Session;

/// `--tls`
pub(super) const TLS: Flag = Flag::value(
    "tls",
    "off|on|require",
    "Whether clients may speak TLS (on) or have to (require), with the certificates of \
     --tls-certificates. Left out, it is off.",
);
/// `--tls-verify-peer`
pub(super) const VERIFY_PEER: Flag = Flag::switch(
    "tls-verify-peer",
    "Only serve clients with a certificate that ca-cert.pem vouches for. They have to speak TLS: \
     this is --tls require, and more.",
);

/// What the server is told about TLS. Nothing is served in plain text to whom it was not meant:
/// who verifies clients requires TLS, and who names a server's certificates says what they are for.
pub(super) fn secrecy(
    arguments: &Arguments,
    session: &mut Session,
) -> Result<Option<Secrecy>, Error> {
    let verify = arguments.has(&VERIFY_PEER);
    let folder = arguments.value(&flags::TLS_CERTIFICATES).map(Path::new);
    let tls = match (arguments.value(&TLS), verify) {
        (Some("require"), _) | (None, true) => Tls::Required,
        (Some("on"), false) => Tls::Offered,
        (Some("on" | "off"), true) => {
            let what = "--tls-verify-peer needs --tls require: otherwise whoever does not speak \
                        TLS needs no certificate.";
            return Err(Error::usage(what));
        }
        (Some("off"), false) => return Ok(None),
        (None, false) => return plain(folder),
        (Some(other), _) => {
            let what = format!("Invalid value '{other}' for --tls; it is off, on or require.");
            return Err(Error::usage(what));
        }
    };
    let folder = folder.ok_or_else(|| {
        Error::usage("Please name the directory of certificates: --tls-certificates DIRECTORY.")
    })?;
    for key in exposed_keys(folder) {
        session.tell(&format!(
            "WARNING: everybody on this machine may read the key in {}: chmod 600 it, and \
             replace it if it was read.",
            key.display()
        ));
    }
    let peers = if verify {
        Peers::Verified
    } else {
        Peers::Anybody
    };
    let security = Security::server(folder, peers)?;
    Ok(Some(Secrecy::new(tls, security)?))
}

/// Without `--tls`: a folder of certificates is for disks that are reached by NBD, and must not
/// look as if it were for the server.
fn plain(folder: Option<&Path>) -> Result<Option<Secrecy>, Error> {
    match folder {
        Some(folder) if folder.join("server-cert.pem").exists() => {
            let what = format!(
                "{} holds a server's certificate, but without --tls it would not be used, and \
                 everything be served in plain text: say --tls require, or --tls off.",
                folder.display()
            );
            Err(Error::usage(what))
        }
        _ => Ok(None),
    }
}

/// Says who may come in by a TCP port, where that is not only whom a certificate was made for.
pub(super) fn warn_of_port(listener: &Listener, verified: bool, session: &mut Session) {
    let Some(address) = listener.port().filter(|_| !verified) else {
        return;
    };
    let who = if address.ip().is_loopback() {
        "every user of this machine"
    } else {
        "whoever reaches it over the network"
    };
    session.tell(&format!(
        "WARNING: port {address} is open to {who}; NBD has no passwords. A unix socket is for \
         its owner only, --tls require --tls-verify-peer for whom a certificate was made for."
    ));
}
