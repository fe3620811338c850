//! Where a token comes from.

use super::super::token::Token;
use tempfile::TempDir;

use super::*;

/// A token in a file that is its user's alone.
pub(super) fn written(folder: &TempDir, token: &str) -> Token {
    Token::read(&file(folder, token.as_bytes(), 0o600)).unwrap()
}

fn file(folder: &TempDir, content: &[u8], mode: u32) -> PathBuf {
    let path = folder.path().join("token");
    std::fs::write(&path, content).unwrap();
    set_mode(&path, mode);
    path
}

#[cfg(unix)]
fn set_mode(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
fn set_mode(_path: &std::path::Path, _mode: u32) {}

#[test]
fn a_token_is_trimmed_and_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::read(&file(&folder, b"  eyJ.x-y_z=\r\n", 0o600)).unwrap();
    assert_eq!(token.header().to_str().unwrap(), "Bearer eyJ.x-y_z=");
    assert!(token.header().is_sensitive());
    for shown in [format!("{token:?}"), format!("{:?}", token.header())] {
        assert!(!shown.contains("eyJ"), "{shown}");
    }
}

#[test]
fn what_is_no_token_is_refused_without_showing_it() {
    let folder = tempfile::tempdir().unwrap();
    for content in [
        &b""[..],
        b" \n",
        b"two words",
        b"two\nlines",
        "s\u{e9}cret".as_bytes(),
        b"\xffsecret",
        &[b'x'; 10_000],
    ] {
        let error = Token::read(&file(&folder, content, 0o600)).unwrap_err();
        assert_eq!(error.code(), "INVALID_ARGUMENT", "{error}");
        assert!(!error.report().contains("cret") && !error.report().contains("xx"), "{error}");
    }
    let error = Token::read(&folder.path().join("none")).unwrap_err();
    assert_eq!(error.code(), "FILE");
}

#[cfg(unix)]
#[test]
fn a_file_that_others_may_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for mode in [0o640, 0o604, 0o644, 0o660, 0o666] {
        let error = Token::read(&file(&folder, b"token", mode)).unwrap_err();
        assert_eq!(error.code(), "NOT_PRIVATE", "{mode:o}");
    }
    Token::read(&file(&folder, b"token", 0o400)).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("token"), &link).unwrap();
    assert_eq!(Token::read(&link).unwrap_err().code(), "NOT_PRIVATE");
    assert_eq!(Token::read(folder.path()).unwrap_err().code(), "NOT_PRIVATE");
}
