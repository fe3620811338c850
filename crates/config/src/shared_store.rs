//! Where a shared store is, and which addresses are valid. Must not connect to it.

use std::path::PathBuf;

use url::Url;

/// How to reach a shared store.
#[derive(Debug, Clone, Default)]
pub struct XtdbOptions {
    /// `http://HOST:PORT` or `https://…`, with or without `/_xtdb`, with an optional path before
    /// it.
    pub url: String,
    /// A file with the token to send, readable only by its user; `None` for a server without one.
    pub token_file: Option<PathBuf>,
    /// Certificate authorities in PEM form, in addition to the system's.
    pub ca_file: Option<PathBuf>,
    /// The ID of the store whose writes these are; `None` for a writer of its own.
    pub writer: Option<String>,
}

/// Why a text is not a server address, without possible secrets, phrased to follow the address's
/// name.
pub fn xtdb_url_problem(given: &str) -> Option<String> {
    let problem = server_address(given).err()?;
    Some(format!("is `{}`, which {problem}", address_without_secret(given)))
}

/// The base address of an XTDB server, ending in `/_xtdb/`.
///
/// # Errors
/// What is wrong with it, phrased to follow the address.
pub fn server_address(given: &str) -> Result<Url, String> {
    let mut url =
        Url::parse(given).map_err(|error| format!("is not an address of a server: {error}"))?;
    let problem = if !["http", "https"].contains(&url.scheme()) {
        Some("has to begin with `http://` or `https://`")
    } else if !url.username().is_empty() || url.password().is_some() {
        Some("holds a name or password; a token belongs into a file of its own")
    } else if url.query().is_some() || url.fragment().is_some() {
        Some("has to end with a host, a port or a path")
    } else {
        None
    };
    if let Some(problem) = problem {
        return Err(problem.to_owned());
    }
    let path = url.path().trim_end_matches('/');
    let prefix = path.strip_suffix("/_xtdb").unwrap_or(path);
    let path = format!("{prefix}/_xtdb/");
    url.set_path(&path);
    Ok(url)
}

/// An address without what may be a password: the part before `@`, and the query.
pub fn address_without_secret(given: &str) -> String {
    let (scheme, rest) = given.split_once("://").unwrap_or(("", given));
    let host = rest.rfind('@').map_or(rest.to_owned(), |at| format!("…{}", &rest[at..]));
    let bare = host.find(['?', '#']).map_or(host.clone(), |end| format!("{}…", &host[..=end]));
    if scheme.is_empty() { bare } else { format!("{scheme}://{bare}") }
}
