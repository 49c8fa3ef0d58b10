//! Which servers are trusted: those with certificates signed by known ones, and those with a known
//! certificate.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme, client,
};

/// Verifies servers by a list of certificates. A self-signed certificate is usually an authority's,
/// which by the rules of the web cannot be a server's own. Here, a server with exactly one of the
/// listed certificates is trusted too.
#[derive(Debug)]
pub(super) struct NamedCertificates {
    signed: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl NamedCertificates {
    /// Trusts these certificates, and those that they signed.
    ///
    /// # Errors
    /// Returns an error if none of them can be used.
    pub(super) fn new(
        named: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, client::VerifierBuilderError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(named.iter().cloned());
        let signed = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        Ok(NamedCertificates {
            signed: signed.build()?,
            named,
        })
    }
}

/// Returns whether a certificate is refused only because of its signer or because it belongs to an
/// authority. Expired certificates have another error.
fn is_of_signer(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => true,
        // The text of webpki, whose errors have no other identification here.
        Error::InvalidCertificate(CertificateError::Other(other)) => {
            other.0.to_string() == "CaUsedAsEndEntity"
        }
        _ => false,
    }
}

impl ServerCertVerifier for NamedCertificates {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self
            .signed
            .verify_server_cert(own, between, server, ocsp, now);
        match verified {
            Err(error) if is_of_signer(&error) && self.named.contains(own) => {
                verify_server_name(&ParsedCertificate::try_from(own)?, server)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}
