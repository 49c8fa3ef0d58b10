//! TLS: a certificate and its private key, read again when their files change.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use divisi_runtime::lock::Leaf;
use divisi_runtime::reading;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use thiserror::Error;

use crate::notices::Notices;
use crate::watched::{FileChange, WatchedFiles};

/// The reasons why TLS files are invalid.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{path}: {why}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A file has other contents.
    #[error("{path}: expected {expected} as PEM")]
    Other {
        /// The file.
        path: PathBuf,
        /// The expected contents.
        expected: &'static str,
    },
    /// The key does not match the certificate, or its type is not supported.
    #[error("{key} does not match the certificate {certificate}: {why}")]
    NoPair {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// The reason.
        why: String,
    },
}

/// A protocol over TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsProtocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, for gRPC.
    Http2,
}

/// A certificate and its key.
pub struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
    notices: Notices,
    state: Leaf<TlsState>,
}

struct TlsState {
    configs: TlsConfigs,
    files: WatchedFiles,
}

/// The TLS configuration of each protocol.
#[derive(Clone)]
struct TlsConfigs {
    http1: Arc<ServerConfig>,
    http2: Arc<ServerConfig>,
}

impl fmt::Debug for TlsFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TlsFiles");
        shown.field("certificate", &self.certificate).finish()
    }
}

impl TlsFiles {
    /// Reads a certificate, followed by its chain, and its key. `notices` receive errors after
    /// later changes.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or is invalid, or the key does not match.
    pub fn read(certificate: &Path, key: &Path, notices: Notices) -> Result<Self, TlsError> {
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        let files = WatchedFiles::new(vec![certificate.clone(), key.clone()]);
        let configs = configs(&certificate, &key)?;
        Ok(TlsFiles {
            certificate,
            key,
            notices,
            state: Leaf::new(TlsState { configs, files }),
        })
    }

    /// Returns the configuration of HTTP/1.1, after reading the files again if they have changed.
    pub fn http1(&self) -> Arc<ServerConfig> {
        self.config(TlsProtocol::Http1)
    }

    /// Returns the configuration of a protocol, after reading the files again if they have changed.
    pub(crate) fn config(&self, protocol: TlsProtocol) -> Arc<ServerConfig> {
        let mut state = self.state.lock();
        let told = state
            .files
            .poll()
            .and_then(|change| self.follow(&mut state, change));
        let configs = state.configs.clone();
        drop(state);
        if let Some(words) = told {
            self.notices.say(&words);
        }
        match protocol {
            TlsProtocol::Http1 => configs.http1,
            TlsProtocol::Http2 => configs.http2,
        }
    }

    /// Follows a change of the files. Returns a notice about it, if there is one.
    fn follow(&self, state: &mut TlsState, change: FileChange) -> Option<String> {
        let kept = "TLS: certificate unchanged";
        if change == FileChange::Gone {
            return Some(format!("{kept}: its files are missing"));
        }
        match configs(&self.certificate, &self.key) {
            Ok(configs) => state.configs = configs,
            Err(why) => return Some(format!("{kept}: {why}")),
        }
        None
    }
}

fn configs(certificate: &Path, key: &Path) -> Result<TlsConfigs, TlsError> {
    let one = |protocol: &[u8]| config(certificate, key, protocol).map(Arc::new);
    Ok(TlsConfigs {
        http1: one(b"http/1.1")?,
        http2: one(b"h2")?,
    })
}

fn config(certificate: &Path, key: &Path, protocol: &[u8]) -> Result<ServerConfig, TlsError> {
    let no_pair = |e: rustls::Error| TlsError::NoPair {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        why: e.to_string(),
    };
    let provider = Arc::new(ring::default_provider());
    let versions = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13, &TLS12])
        .map_err(no_pair)?;
    let mut config = versions
        .with_no_client_auth()
        .with_single_cert(chain(certificate)?, private(key)?)
        .map_err(no_pair)?;
    config.alpn_protocols = vec![protocol.to_owned()];
    Ok(config)
}

fn text(path: &Path) -> Result<String, TlsError> {
    reading::text(path).map_err(|error| TlsError::Unreadable {
        path: path.to_owned(),
        why: error.to_string(),
    })
}

/// Reads the certificates of a file.
///
/// # Errors
/// Returns an error if the file cannot be read or contains none.
pub(crate) fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = text(path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    let all = all.ok().filter(|all| !all.is_empty());
    all.ok_or_else(|| TlsError::Other {
        path: path.to_owned(),
        expected: "a certificate",
    })
}

fn private(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = text(path)?;
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| TlsError::Other {
        path: path.to_owned(),
        expected: "a private key",
    })
}
