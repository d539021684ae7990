//! Where a server is and which export is meant, as an NBD URI.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::wire::constants::STRING_LEN_MAX;
use block::{Error, Kind, Result};

/// The port for NBD.
const PORT: u16 = 10809;

/// A server's address and an export's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    pub(super) server: Server,
    pub(super) export: String,
    /// How TLS is spoken; it is not, without.
    pub(super) secrecy: Option<Secrecy>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Secrecy {
    /// The folder of the certificates.
    pub(super) certificates: Option<PathBuf>,
    /// For whom the server's certificate must be, instead of the host that is connected to.
    hostname: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Server {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

impl Address {
    /// An export of the server that listens on the unix socket `path`.
    pub fn unix(path: impl Into<PathBuf>, export: impl Into<String>) -> Self {
        let server = Server::Unix(path.into());
        let export = export.into();
        Self {
            server,
            export,
            secrecy: None,
        }
    }

    /// An export of the server that listens on a TCP port.
    pub fn tcp(host: impl Into<String>, port: u16, export: impl Into<String>) -> Self {
        let host = host.into();
        let server = Server::Tcp { host, port };
        let export = export.into();
        Self {
            server,
            export,
            secrecy: None,
        }
    }

    /// The same, under TLS, with the certificates of a folder; without one, the server's
    /// certificate must be known to the system.
    pub fn secured(mut self, certificates: Option<PathBuf>) -> Self {
        let hostname = self.secrecy.and_then(|secrecy| secrecy.hostname);
        self.secrecy = Some(Secrecy {
            certificates,
            hostname,
        });
        self
    }

    /// The same, with the certificates of this folder if it is used under TLS and names none.
    pub fn with_certificates(mut self, folder: PathBuf) -> Self {
        if let Some(secrecy) = &mut self.secrecy {
            secrecy.certificates.get_or_insert(folder);
        }
        self
    }

    /// Reads `nbd://HOST[:PORT][/NAME]` or `nbd+unix://[/NAME]?socket=PATH`; `nbds` instead of
    /// `nbd` asks for TLS, and then `tls-certificates=FOLDER` and `tls-hostname=NAME` may follow
    /// a question mark.
    pub fn parse(uri: &str) -> Result<Self> {
        Self::parsed(uri).ok_or_else(|| {
            let what = format!(
                "{uri:.200?} is no NBD address: write nbd://HOST[:PORT]/NAME or \
                 nbd+unix:///NAME?socket=PATH, or nbds in front for TLS"
            );
            Error::new(Kind::Open, what)
        })
    }

    fn parsed(uri: &str) -> Option<Self> {
        let (scheme, rest) = uri.split_once("://")?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let option = |key: &str| -> Option<Option<String>> {
            let mut options = query.split('&').filter_map(|option| option.split_once('='));
            match options.find(|(name, _)| *name == key) {
                Some((_, value)) => unescape(value).map(Some),
                None => Some(None),
            }
        };
        let (is_unix, is_secret) = match scheme {
            "nbd" => (false, false),
            "nbds" => (false, true),
            "nbd+unix" => (true, false),
            "nbds+unix" => (true, true),
            _ => return None,
        };
        let mut address = if is_unix {
            let path = option("socket")?.filter(|path| !path.is_empty())?;
            // nbdkit's own `$uri` leaves out the slash of an export without a name.
            let name = match place {
                "" => "",
                place => place.strip_prefix('/')?,
            };
            Self::unix(path, unescape(name)?)
        } else {
            Self::parse_tcp(place)?
        };
        if address.export.len() > STRING_LEN_MAX {
            return None;
        }
        if is_secret {
            address.secrecy = Some(Secrecy {
                certificates: option("tls-certificates")?.map(PathBuf::from),
                hostname: option("tls-hostname")?,
            });
        }
        Some(address)
    }

    fn parse_tcp(place: &str) -> Option<Self> {
        let (authority, name) = place.split_once('/').unwrap_or((place, ""));
        let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
            let (host, after) = rest.split_once(']')?;
            (host, after.strip_prefix(':'))
        } else {
            match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            }
        };
        let port = port.map_or(Some(PORT), |port| port.parse().ok())?;
        (!host.is_empty()).then_some(())?;
        Some(Self::tcp(host, port, unescape(name)?))
    }

    /// The unix socket on which the server listens, if it is one.
    pub fn socket(&self) -> Option<&Path> {
        match &self.server {
            Server::Unix(path) => Some(path),
            Server::Tcp { .. } => None,
        }
    }

    /// The name of the export.
    pub fn export(&self) -> &str {
        &self.export
    }

    /// For whom the server's certificate must be.
    pub(super) fn hostname(&self) -> &str {
        let said = self
            .secrecy
            .as_ref()
            .and_then(|secrecy| secrecy.hostname.as_deref());
        said.unwrap_or(match &self.server {
            Server::Tcp { host, .. } => host,
            Server::Unix(_) => "localhost",
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secrecy.is_some() {
            "nbds"
        } else {
            "nbd"
        };
        match &self.server {
            Server::Tcp { host, port } => {
                let host = if host.contains(':') {
                    format!("[{host}]")
                } else {
                    host.clone()
                };
                write!(f, "{scheme}://{host}:{port}/{}", escape(&self.export))
            }
            Server::Unix(path) => {
                let path = escape(&path.to_string_lossy());
                write!(f, "{scheme}+unix:///{}?socket={path}", escape(&self.export))
            }
        }
    }
}

/// Percent-decoding; `None` if what comes out is not UTF-8 or an escape is cut off.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests;
