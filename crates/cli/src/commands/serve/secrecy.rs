//! TLS of what is served: the flags, and what they come to.

use std::path::Path;

use block::tls::{Peers, Security};
use export::nbd::{Secrecy, Tls};

use crate::args::{Arguments, Error, Flag, flags};

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
    "Only serve TLS clients with a certificate that ca-cert.pem vouches for.",
);

/// What the server is told about TLS.
pub(super) fn secrecy(arguments: &Arguments) -> Result<Option<Secrecy>, Error> {
    let tls = match arguments.value(&TLS) {
        None | Some("off") => {
            if arguments.has(&VERIFY_PEER) {
                let what = "--tls-verify-peer means nothing without --tls on or require.";
                return Err(Error::usage(what));
            }
            return Ok(None);
        }
        Some("on") => Tls::Offered,
        Some("require") => Tls::Required,
        Some(other) => {
            let what = format!("Invalid value '{other}' for --tls; it is off, on or require.");
            return Err(Error::usage(what));
        }
    };
    let folder = arguments.value(&flags::TLS_CERTIFICATES).ok_or_else(|| {
        Error::usage("Please name the folder of certificates: --tls-certificates FOLDER.")
    })?;
    let peers = if arguments.has(&VERIFY_PEER) {
        Peers::Verified
    } else {
        Peers::Anybody
    };
    let security = Security::server(Path::new(folder), peers)?;
    Ok(Some(Secrecy { tls, security }))
}
