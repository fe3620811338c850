//! The bearer token: read from a file that only its user can read, and shown nowhere.

use std::fmt;
use std::io::Read;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::header::HeaderValue;

use base::error::{Error, Result};
use base::object::Timestamp;
use files::private;

/// Longest token; the server takes 8 KB of headers in all.
const MAX_LENGTH: usize = 6_000;

/// A bearer token. Neither `Debug` nor anything else shows it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

impl Token {
    /// Reads the file's text, without surrounding white space.
    ///
    /// # Errors
    /// `NOT_PRIVATE` if it is a link, belongs to another user, or others may read it; `FILE` if it
    /// cannot be read; `INVALID_ARGUMENT` if it does not hold a token.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let unreadable = |source| Error::File { act: "read", path: path.to_owned(), source };
        private::check_file(path)?;
        let mut text = String::new();
        let file = private::open_to_read(path).map_err(unreadable)?;
        let read = file.take(MAX_LENGTH as u64 + 1_000).read_to_string(&mut text);
        if let Err(source) = read {
            if source.kind() == std::io::ErrorKind::InvalidData {
                return Err(wrong(path, "is not text"));
            }
            return Err(unreadable(source));
        }
        let token = text.trim();
        if token.is_empty() {
            Err(wrong(path, "is empty"))
        } else if token.len() > MAX_LENGTH {
            Err(wrong(path, &format!("is longer than {MAX_LENGTH} bytes")))
        } else if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            Err(wrong(path, "has to hold one token, in characters of ASCII without spaces"))
        } else {
            Ok(Self(token.to_owned()))
        }
    }

    /// A text from the server with the token removed, in case the server echoes it.
    pub(super) fn hidden_in(&self, text: &str) -> String {
        text.replace(&self.0, "…")
    }

    /// When it expires, if it is a JWT that says so.
    pub(super) fn expires(&self) -> Option<Timestamp> {
        let claims = self.0.split('.').nth(1)?.trim_end_matches('=');
        let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
        let claims: serde_json::Value = serde_json::from_slice(&claims).ok()?;
        claims.get("exp")?.as_i64()?.checked_mul(1_000).map(Timestamp)
    }

    /// The value of `Authorization`, which libraries' logs leave out.
    pub(super) fn header(&self) -> HeaderValue {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0))
            .unwrap_or_else(|_| HeaderValue::from_static("Bearer"));
        value.set_sensitive(true);
        value
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

fn wrong(path: &Path, problem: &str) -> Error {
    Error::argument("token file", format!("`{}` {problem}", path.display()))
}
