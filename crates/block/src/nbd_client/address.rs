//! Where a server is and which export is meant, as an NBD URI.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use crate::nbd::constants::STRING_LEN_MAX;
use crate::{Error, Kind, Result};

/// The port for NBD.
const PORT: u16 = 10809;

/// A server's address and an export's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    pub(super) server: Server,
    pub(super) export: String,
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
        Self { server, export }
    }

    /// An export of the server that listens on a TCP port.
    pub fn tcp(host: impl Into<String>, port: u16, export: impl Into<String>) -> Self {
        let host = host.into();
        let server = Server::Tcp { host, port };
        let export = export.into();
        Self { server, export }
    }

    /// Reads `nbd://HOST[:PORT][/NAME]` or `nbd+unix:///[NAME]?socket=PATH`.
    pub fn parse(uri: &str) -> Result<Self> {
        let bad = || {
            let what = format!(
                "{uri:.200?} is no NBD address: write nbd://HOST[:PORT]/NAME or \
                 nbd+unix:///NAME?socket=PATH"
            );
            Error::new(Kind::Open, what)
        };
        if let Some(rest) = uri.strip_prefix("nbd+unix:///") {
            let (name, query) = rest.split_once('?').ok_or_else(bad)?;
            let mut options = query.split('&');
            let path = options.find_map(|option| option.strip_prefix("socket="));
            let path = unescape(path.unwrap_or("")).ok_or_else(bad)?;
            let export = unescape(name).ok_or_else(bad)?;
            if path.is_empty() {
                return Err(bad());
            }
            return Ok(Self::unix(path, export));
        }
        let rest = uri.strip_prefix("nbd://").ok_or_else(bad)?;
        let (authority, name) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
            let (host, after) = rest.split_once(']').ok_or_else(bad)?;
            (host, after.strip_prefix(':'))
        } else {
            match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            }
        };
        let port = port.map_or(Ok(PORT), str::parse).map_err(|_| bad())?;
        let export = unescape(name).ok_or_else(bad)?;
        if host.is_empty() || export.len() > STRING_LEN_MAX {
            return Err(bad());
        }
        Ok(Self::tcp(host, port, export))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Server::Tcp { host, port } => {
                let host = if host.contains(':') {
                    format!("[{host}]")
                } else {
                    host.clone()
                };
                write!(f, "nbd://{host}:{port}/{}", escape(&self.export))
            }
            Server::Unix(path) => {
                let path = escape(&path.to_string_lossy());
                write!(f, "nbd+unix:///{}?socket={path}", escape(&self.export))
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
