//! TLS: whose certificates are trusted.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;

/// An authority's certificate in PEM form, and what a server needs of it for this host.
fn certified(host: &str) -> (String, ServerConfig) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(vec![host.to_owned()]).unwrap();
    let server = server.signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![server.der().clone()], key)
        .unwrap();
    (authority.pem(), config)
}

/// A server that answers each connection once. Its address, with the host's name.
fn serve(config: ServerConfig) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = Arc::new(config);
    // Ends with the process of the tests at the latest; nothing waits for it.
    thread::spawn(move || {
        for stream in listener.incoming().take(16) {
            let Ok(stream) = stream else { return };
            let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            if stream.read(&mut [0; 4_096]).is_ok_and(|length| length > 0) {
                let answer = super::server::answer(
                    404,
                    "application/json",
                    r#"{"error":"No latest-submitted-tx found."}"#,
                );
                let _ = stream.write_all(&answer);
            }
        }
    });
    format!("https://localhost:{port}")
}

fn client(url: String, ca_file: Option<PathBuf>) -> Client {
    Client::new(ClientOptions { ca_file, ..ClientOptions::new(url) }).unwrap()
}

fn written(folder: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("authority.pem");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn only_certificates_of_given_authorities_are_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, config) = certified("localhost");
    let url = serve(config);
    let error = client(url.clone(), None).latest_submitted().unwrap_err();
    assert_eq!(error.code(), "XTDB_UNAVAILABLE");
    assert!(error.to_string().contains("certificate"), "{error}");
    assert_eq!(client(url, Some(written(&folder, &authority))).latest_submitted().unwrap(), None);
}

#[test]
fn a_certificate_for_another_host_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, config) = certified("example.org");
    let error =
        client(serve(config), Some(written(&folder, &authority))).latest_submitted().unwrap_err();
    assert_eq!(error.code(), "XTDB_UNAVAILABLE");
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[test]
fn a_server_without_tls_is_told_apart() {
    let server = super::server::Server::start(vec![super::server::Act::close()]);
    let url = server.url().replace("http://127.0.0.1", "https://localhost");
    let error = client(url, None).status().unwrap_err();
    assert_eq!(error.code(), "XTDB_UNAVAILABLE", "{error}");
}

#[test]
fn a_file_without_certificates_is_refused_before_sending() {
    let folder = tempfile::tempdir().unwrap();
    let options = |ca_file| ClientOptions { ca_file, ..ClientOptions::new("https://localhost:1") };
    for text in ["", "no certificate", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----"]
    {
        let error = Client::new(options(Some(written(&folder, text)))).unwrap_err();
        assert_eq!(error.code(), "INVALID_ARGUMENT", "{text}");
    }
    let missing = folder.path().join("none.pem");
    assert_eq!(Client::new(options(Some(missing))).unwrap_err().code(), "FILE");
}
