//! Where a shared store is, and which addresses can be one. Must not connect to it.

use std::path::PathBuf;

use url::Url;

/// How to reach a shared store.
#[derive(Debug, Clone, Default)]
pub struct XtdbOptions {
    /// `http://HOST:PORT` or `https://…`, with or without `/_xtdb`, with an optional path before it.
    pub url: String,
    /// A file, readable for its user only, that holds the token to send; `None` for a server without one.
    pub token_file: Option<PathBuf>,
    /// Certificate authorities in PEM form, besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Whose writes these are: the ID of a store that writes here; `None` for a writer of its own.
    pub writer: Option<String>,
}

/// Why a text is no address of a server, with what may be a secret left out: in words that follow a name of the address.
pub fn xtdb_url_problem(given: &str) -> Option<String> {
    let problem = server_address(given).err()?;
    Some(format!("is `{}`, which {problem}", address_without_secret(given)))
}

/// The address below which an XTDB server answers, with `/_xtdb/` at its end.
///
/// # Errors
/// What is wrong with it, in words that follow the address.
pub fn server_address(given: &str) -> Result<Url, String> {
    let mut url =
        Url::parse(given).map_err(|error| format!("is no address of a server: {error}"))?;
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

/// What stands before `@`, and in a query, may be a password.
pub fn address_without_secret(given: &str) -> String {
    let (scheme, rest) = given.split_once("://").unwrap_or(("", given));
    let host = rest.rfind('@').map_or(rest.to_owned(), |at| format!("…{}", &rest[at..]));
    let bare = host.find(['?', '#']).map_or(host.clone(), |end| format!("{}…", &host[..=end]));
    if scheme.is_empty() { bare } else { format!("{scheme}://{bare}") }
}
