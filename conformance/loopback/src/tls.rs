//! Encrypted connections, with a certificate that the server makes for itself.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The names of this machine in the certificate.
const NAMES: [&str; 2] = ["127.0.0.1", "localhost"];

/// A certificate with its key, in the configuration of all connections.
#[derive(Debug)]
pub(crate) struct Tls {
    config: Arc<ServerConfig>,
    /// The certificate as text.
    pub(crate) certificate: String,
}

impl Tls {
    /// Makes a certificate and its key.
    pub(crate) fn new() -> io::Result<Self> {
        let made = rcgen::generate_simple_self_signed(NAMES.map(str::to_owned)).map_err(io::Error::other)?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?;
        let config = builder
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())
            .map_err(io::Error::other)?;
        Ok(Self { config: Arc::new(config), certificate: made.cert.pem() })
    }

    /// Returns the encrypted connection. The handshake is part of the first read.
    pub(crate) fn accept(&self, client: TcpStream) -> io::Result<StreamOwned<ServerConnection, TcpStream>> {
        let connection = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        Ok(StreamOwned::new(connection, client))
    }
}
