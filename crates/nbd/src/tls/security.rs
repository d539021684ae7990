//! Certificates, and the handshakes with them.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{ClientConfig, ClientConnection, WebPkiServerVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ServerConfig, ServerConnection, WebPkiClientVerifier};
use rustls::{Connection, RootCertStore};

use super::relay::Relay;
use super::wire::Wire;
use block::{Error, Kind, Result};

/// Whom clients believe if no folder says so: the list that the distribution keeps.
const SYSTEM_CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The permission that lets everybody on the machine read a file.
const OTHERS_READ: u32 = 0o004;

/// Are clients asked who they are?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peers {
    /// No.
    Anybody,
    /// They need a certificate that `ca-cert.pem` vouches for.
    Verified,
}

/// One side's certificates and rules.
#[derive(Debug, Clone)]
pub struct Security {
    side: Side,
    peers: Peers,
}

#[derive(Debug, Clone)]
enum Side {
    Server(Arc<ServerConfig>),
    Client(Arc<ClientConfig>),
}

/// The plain text of a connection, and the thread that moves it.
pub type Secured = (OwnedFd, JoinHandle<()>);

impl Security {
    /// What a server needs, from a folder.
    pub fn server(folder: &Path, peers: Peers) -> Result<Self> {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(unusable)?;
        let builder = match peers {
            Peers::Anybody => builder.with_no_client_auth(),
            Peers::Verified => {
                let roots = Arc::new(roots(&folder.join("ca-cert.pem"))?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider())
                    .build()
                    .map_err(unusable)?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let (chain, key) = own(folder, "server")?;
        let config = builder.with_single_cert(chain, key).map_err(unusable)?;
        let side = Side::Server(Arc::new(config));
        Ok(Self { side, peers })
    }

    /// What a client needs, from a folder; without one, the distribution's list says who is
    /// believed.
    pub fn client(folder: Option<&Path>) -> Result<Self> {
        let ca = folder.map_or_else(
            || Path::new(SYSTEM_CERTIFICATES).to_owned(),
            |folder| folder.join("ca-cert.pem"),
        );
        let roots = Arc::new(roots(&ca)?);
        let verifier: Arc<dyn ServerCertVerifier> =
            WebPkiServerVerifier::builder_with_provider(roots, provider())
                .build()
                .map_err(unusable)?;
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let folder = folder.filter(|folder| folder.join("client-cert.pem").exists());
        let config = match folder {
            Some(folder) => {
                let (chain, key) = own(folder, "client")?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(unusable)?
            }
            None => builder.with_no_client_auth(),
        };
        let side = Side::Client(Arc::new(config));
        let peers = Peers::Verified;
        Ok(Self { side, peers })
    }

    /// Whether whoever is at the other end has to show a certificate. A server always has to.
    pub fn peers(&self) -> Peers {
        self.peers
    }

    /// Shakes hands as a server with the client behind `socket`.
    pub fn accept(&self, socket: OwnedFd, deadline: Instant) -> Result<Secured> {
        let Side::Server(config) = &self.side else {
            unreachable!("a server's security is made by Security::server")
        };
        let tls = ServerConnection::new(Arc::clone(config)).map_err(unusable)?;
        secure(tls.into(), socket, deadline)
    }

    /// Shakes hands as a client with the server behind `socket`, whose certificate must be for
    /// `host`.
    pub fn connect(&self, socket: OwnedFd, host: &str, deadline: Instant) -> Result<Secured> {
        let Side::Client(config) = &self.side else {
            unreachable!("a client's security is made by Security::client")
        };
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            let what = format!("{host:?} is no name that a certificate could be for");
            Error::new(Kind::Open, what)
        })?;
        let tls = ClientConnection::new(Arc::clone(config), name).map_err(unusable)?;
        secure(tls.into(), socket, deadline)
    }
}

/// The keys in `folder` that others than their owner may read, and so be taken for it.
pub fn exposed_keys(folder: &Path) -> Vec<PathBuf> {
    let keys = ["server-key.pem", "client-key.pem"].map(|name| folder.join(name));
    let is_exposed = |path: &PathBuf| {
        let found = std::fs::metadata(path);
        found.is_ok_and(|found| found.permissions().mode() & OTHERS_READ != 0)
    };
    keys.into_iter().filter(is_exposed).collect()
}

fn secure(mut tls: Connection, socket: OwnedFd, deadline: Instant) -> Result<Secured> {
    let mut wire = Wire {
        socket,
        deadline: Some(deadline),
    };
    while tls.is_handshaking() || tls.wants_write() {
        let stepped = if tls.wants_write() {
            tls.write_tls(&mut wire).map(|_| ())
        } else {
            read_packets(&mut tls, &mut wire)
        };
        match stepped {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                // The alert that says why.
                let _ = tls.write_tls(&mut wire);
                let what = "cannot agree on TLS";
                return Err(Error::new(Kind::Open, format!("{what}: {error}")));
            }
            Ok(()) => {}
        }
    }
    wire.deadline = None;
    // The relay gives it nothing while it holds something.
    tls.set_buffer_limit(None);
    let failed = |error: io::Error| Error::io("cannot set up a TLS connection", error);
    for direction in [Timeout::Recv, Timeout::Send] {
        set_socket_timeout(&wire.socket, direction, None).map_err(|errno| failed(errno.into()))?;
    }
    let flags = SocketFlags::CLOEXEC;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(|errno| failed(errno.into()))?;
    let relay = Relay {
        tls,
        wire,
        plain: ours,
        inward: Vec::new(),
        sent: 0,
        wire_open: true,
        plain_open: true,
    };
    let thread = std::thread::Builder::new()
        .name("tls".to_owned())
        .spawn(move || relay.run())
        .map_err(failed)?;
    Ok((theirs, thread))
}

fn read_packets(tls: &mut Connection, wire: &mut Wire) -> io::Result<()> {
    if tls.read_tls(wire)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    tls.process_new_packets().map_err(io::Error::other)?;
    Ok(())
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn unusable(error: impl std::fmt::Display) -> Error {
    Error::new(
        Kind::Open,
        format!("cannot use the certificates for TLS: {error}"),
    )
}

fn roots(path: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates(path)?);
    if added == 0 {
        let what = format!("{} holds no certificate that can be used", path.display());
        return Err(Error::new(Kind::Open, what));
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let read =
        || -> std::result::Result<Vec<_>, _> { CertificateDer::pem_file_iter(path)?.collect() };
    read().map_err(|error| {
        let what = format!(
            "cannot read the certificates in {}: {error}; the directory of --tls-certificates \
             holds them",
            path.display()
        );
        Error::new(Kind::Open, what)
    })
}

/// The certificate and the key of one side.
fn own(
    folder: &Path,
    side: &str,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let chain = certificates(&folder.join(format!("{side}-cert.pem")))?;
    let path = folder.join(format!("{side}-key.pem"));
    let key = PrivateKeyDer::from_pem_file(&path).map_err(|error| {
        let what = format!("cannot read the key in {}: {error}", path.display());
        Error::new(Kind::Open, what)
    })?;
    Ok((chain, key))
}
