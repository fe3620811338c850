//! Server failures as the crate's errors: failed connections, and unexpected kinds of answers. The
//! token never comes in here.

use std::error::Error as StdError;

use super::reply::Reply;
use super::token::Token;
use base::clock::system_time;
use base::error::Error;

/// Whether and when the same request may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// It would fail in the same way.
    Never,
    /// On another connection, at once: this one was dead, or died midway.
    AtOnce,
    /// As [`Self::AtOnce`], but only once: it may well fail again, after as much work.
    Once,
    /// After a while.
    Later,
}

/// An error, and whether to retry.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    pub(super) again: Again,
    /// Whether the server cannot have seen the request.
    pub(super) unsent: bool,
}

impl Failure {
    pub(super) fn never(error: Error) -> Self {
        Self::sent(error, Again::Never)
    }

    /// Of a request that the server may have seen.
    pub(super) fn sent(error: Error, again: Again) -> Self {
        Self { error, again, unsent: false }
    }
}

/// As `XTDB_UNAVAILABLE`.
pub(super) fn unavailable(
    url: &str,
    problem: impl Into<String>,
    source: Option<base::error::BoxError>,
) -> Error {
    Error::XtdbUnavailable { url: url.to_owned(), problem: problem.into(), source }
}

/// As `XTDB_ANSWER`.
pub(super) fn unreadable(url: &str, problem: impl Into<String>) -> Error {
    Error::XtdbAnswer { url: url.to_owned(), problem: problem.into() }
}

/// As `XTDB_FOREIGN`.
pub(super) fn foreign(url: &str, found: impl Into<String>) -> Error {
    Error::XtdbForeign { url: url.to_owned(), found: found.into() }
}

/// As `XTDB_FAILED`: the server has stopped indexing.
pub(in crate::server) fn ingester_failed(url: &str, status: u16) -> Error {
    let problem =
        "its ingester has failed: it indexes nothing until it is started again".to_owned();
    Error::XtdbFailed { url: url.to_owned(), status, problem }
}

/// As `XTDB_FAILED`.
pub(super) fn failed(reply: &Reply, problem: impl Into<String>) -> Error {
    let Reply { url, status, .. } = reply;
    Error::XtdbFailed { url: url.clone(), status: *status, problem: problem.into() }
}

/// The meaning of a failed exchange: nothing was answered, or the answer broke off.
pub(super) fn of_transport(url: &str, error: reqwest::Error) -> Failure {
    let error = error.without_url();
    let cause = innermost(&error);
    if error.is_connect() {
        // A request that waited this long is not retried.
        let (again, problem) = if error.is_timeout() {
            (Again::Never, "no connection in time".to_owned())
        } else if error.is_dns() {
            (Again::Later, format!("its host is not found ({cause})"))
        } else {
            (Again::Later, format!("no connection ({cause})"))
        };
        let error = unavailable(url, problem, Some(error.into()));
        return Failure { error, again, unsent: true };
    }
    let hyper = chain(&error).find_map(|error| error.downcast_ref::<hyper::Error>());
    if hyper.is_some_and(hyper::Error::is_parse) {
        return Failure::never(foreign(url, format!("it does not speak HTTP ({cause})")));
    }
    if error.is_builder() {
        return Failure::never(Error::internal(format!("a request that cannot be sent: {cause}")));
    }
    Failure {
        unsent: hyper.is_some_and(hyper::Error::is_canceled),
        error: unavailable(url, format!("the connection was cut ({cause})"), Some(error.into())),
        again: Again::AtOnce,
    }
}

/// The meaning of an answer with an unexpected status.
pub(super) fn of_status(reply: &Reply) -> Failure {
    let Reply { url, status, .. } = reply;
    let later = |problem| Failure::sent(unavailable(url, problem, None), Again::Later);
    match *status {
        401 | 403 => {
            let (url, status, problem) = (url.clone(), *status, refusal(reply));
            Failure::never(Error::XtdbRefused { url, status, problem })
        }
        400 if reply.mentions("node-out-of-sync") => {
            later("this node has not caught up with the transaction yet".to_owned())
        }
        408 | 429 | 502..=504 => later(format!("status {status}{}", reply.said_after())),
        500 if reply.class().is_some_and(|class| class.ends_with("TimeoutException")) => {
            Failure::never(unavailable(url, "it had not indexed the transaction in time", None))
        }
        500.. => {
            let problem = match reply.class() {
                Some(class) => format!("`{class}`"),
                None => format!("status {status}{}", reply.said_after()),
            };
            Failure::never(failed(reply, problem))
        }
        400 | 413 | 414 | 431 if !reply.is_html() || reply.mentions("Bad Message") => {
            let said = reply.said_after();
            let problem = format!("it refused the request with status {status}{said}");
            Failure::never(failed(reply, problem))
        }
        _ => Failure::never(foreign(url, reply.described())),
    }
}

/// What a server said that refuses, and whether the token is too old, which it does not say.
fn refusal(reply: &Reply) -> String {
    let said = reply.said().unwrap_or_else(|| "it gave no reason".to_owned());
    let expired = reply.secret.as_ref().and_then(Token::expires).filter(|end| *end < system_time());
    match expired {
        Some(end) if reply.status == 401 => format!("the token expired at {end} ({said})"),
        _ => said,
    }
}

fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

fn innermost(error: &(dyn StdError + 'static)) -> String {
    chain(error).last().map_or_else(String::new, ToString::to_string)
}
