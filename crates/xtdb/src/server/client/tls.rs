//! Which certificates are trusted: the system's (`rustls-platform-verifier`, which `reqwest` brings
//! anyway), not a list in the binary. A company's own authority is installed there, and a list
//! would age. Cryptography is `ring`, the smallest for the binary.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use super::failure::unavailable;
use base::error::{Error, Result};

/// For `https`, with the authorities in `ca_file` in addition to the system's. For `http` nothing
/// is trusted or loaded.
pub(super) fn config(url: &str, is_https: bool, ca_file: Option<&Path>) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let no_tls = |error: rustls::Error| {
        unavailable(url, format!("TLS cannot be used ({error})"), Some(error.into()))
    };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(no_tls)?;
    if !is_https {
        return Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
    }
    let extra = ca_file.map(certificates).transpose()?.unwrap_or_default();
    let verifier = Verifier::new_with_extra_roots(extra, provider).map_err(no_tls)?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let text = std::fs::read(path).map_err(|source| Error::File {
        act: "read",
        path: path.to_owned(),
        source,
    })?;
    let wrong = || {
        Error::argument("caFile", format!("`{}` holds no certificates in PEM form", path.display()))
    };
    let found: Vec<_> =
        CertificateDer::pem_slice_iter(&text).collect::<Result<_, _>>().map_err(|_| wrong())?;
    if found.is_empty() { Err(wrong()) } else { Ok(found) }
}
