//! Sends requests and receives answers: connections, time-outs, retries, limits. Must not know what
//! an answer says.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, Url};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout};

use super::body::Body;
use super::failure::{self, Again, Failure};
use super::reply::Reply;
use super::runtime::Runtime;
use super::{ClientOptions, tls};
use base::error::{Error, Result};
use base::lock;
use config::{address_without_secret, server_address};

/// Most bytes of an answer, and of a transaction in the log: a text is in memory twice while it is
/// read.
const MAX_BODY: usize = 64 << 20;
/// Most times that a request is sent, if repeating is safe, and the log read on without a transaction in between.
const MAX_TRIES: u32 = 4;
/// The longest wait before the second try; doubles with each.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// A connection idle for this long is closed; load balancers drop idle connections after a minute.
const IDLE_CONNECTION: Duration = Duration::from_secs(30);
/// The server takes addresses of 8 KB, headers included.
const MAX_ADDRESS: usize = 7_000;

/// Most bytes of an answer that is read whole; such answers are short.
pub(super) const MAX_SHORT: usize = 1 << 20;
/// Bytes read of an answer with an unexpected status; then the connection is closed.
pub(super) const MAX_ERROR: usize = 16 << 10;
/// A line slower than this many bytes a second is not waited for.
pub(super) const SLOWEST_LINE: u32 = 32 << 10;

/// The notation an answer is asked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Notation {
    #[default]
    Json,
    Edn,
}

impl Notation {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Edn => "application/edn",
        }
    }
}

/// A request.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// Below `/_xtdb/`.
    pub(super) path: &'static str,
    pub(super) parameters: Vec<(&'static str, String)>,
    pub(super) accept: Notation,
    pub(super) body: Option<(Notation, Vec<u8>)>,
    /// Whether the server may wait before it answers.
    pub(super) awaits: bool,
    /// Whether the server prepares a long answer completely before sending any of it.
    pub(super) is_long: bool,
}

impl Request {
    pub(super) fn get(path: &'static str, accept: Notation) -> Self {
        Self { path, accept, ..Self::default() }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.parameters.push((name, value.into()));
        self
    }
}

/// The way to one server.
pub(super) struct Http {
    pub(super) limits: Limits,
    base: Url,
    options: ClientOptions,
    tls: rustls::ClientConfig,
    pub(super) permits: Semaphore,
    /// For reading the log, which takes two connections of its own: one reader at a time.
    pub(super) log_permit: Semaphore,
    pool: Mutex<Arc<Client>>,
}

impl Http {
    /// # Errors
    /// `INVALID_ARGUMENT` for an invalid server address; `XTDB_UNAVAILABLE` if the system has no
    /// certificates.
    pub(super) fn new(mut options: ClientOptions) -> Result<Self> {
        options.connections = options.connections.max(1);
        let base = base_url(&options.url)?;
        let url = shown(&base);
        let tls = tls::config(&url, base.scheme() == "https", options.ca_file.as_deref())?;
        let pool = build(&tls, &options)?;
        Ok(Self {
            limits: Limits {
                url,
                max_body: MAX_BODY,
                request_timeout: options.request_timeout,
                deadline: options.deadline.map(|all| (Instant::now() + all, all)),
                answers: AtomicUsize::new(0),
            },
            base,
            tls,
            permits: Semaphore::new(options.connections),
            log_permit: Semaphore::new(1),
            pool: Mutex::new(Arc::new(pool)),
            options,
        })
    }

    pub(super) fn await_ms(&self) -> String {
        self.options.await_timeout.as_millis().to_string()
    }

    /// Sends a request, repeatedly where that may help, until `read` accepts the answer. For
    /// requests that change nothing at the server.
    ///
    /// `read` gets the answer whatever its status: with its text, or, if it is the expected kind
    /// and `may_be_long`, with a body to read.
    pub(super) fn ask<T>(
        &self,
        runtime: &Runtime,
        request: &Request,
        may_be_long: bool,
        read: impl Fn(&Reply, &mut Body<'_>) -> Result<T, Failure>,
    ) -> Result<T> {
        let start = Instant::now();
        let may =
            |_: &Failure| !self.limits.is_over() && start.elapsed() <= self.head_limit(request);
        let once = |_: &mut u32| self.answered(runtime, request, may_be_long, &read);
        let asked = self.repeated(runtime, may, once);
        asked.map_err(|failure| failure.error)
    }

    /// Tries something again where that may help, and where `may` allows it. `once` may change how
    /// often it was tried.
    pub(super) fn repeated<T>(
        &self,
        runtime: &Runtime,
        may: impl Fn(&Failure) -> bool,
        mut once: impl FnMut(&mut u32) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut tries = 1;
        loop {
            let failure = match once(&mut tries) {
                Ok(done) => return Ok(done),
                Err(failure) => failure,
            };
            let most = match failure.again {
                Again::Never => return Err(failure),
                Again::Once => 2,
                Again::AtOnce | Again::Later => MAX_TRIES,
            };
            // Connections opened at the same time may be dead too, and a transaction must not be
            // lost on one.
            self.renew().map_err(Failure::never)?;
            if tries >= most || !may(&failure) {
                return Err(failure);
            }
            if failure.again == Again::Later || tries > 1 {
                runtime.wait(async { sleep(wait(tries)).await });
            }
            tries += 1;
        }
    }

    /// Sends one request and passes the answer to `read`.
    fn answered<T>(
        &self,
        runtime: &Runtime,
        request: &Request,
        may_be_long: bool,
        read: impl Fn(&Reply, &mut Body<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let _permit = runtime.wait(self.permit(&self.permits, self.head_limit(request)))?;
        let response = runtime.wait(self.open(request))?;
        let come = Cell::new(0);
        let mut reply = self.head(&response);
        let mut body =
            Body::new(runtime, &self.limits, response, &come, self.limits.request_timeout);
        if !(may_be_long && reply.is_wanted()) {
            body.text(&mut reply)?;
        }
        let read = read(&reply, &mut body);
        let read = read.map_err(|failure| body.failure.take().unwrap_or(failure))?;
        self.limits.answers.fetch_add(1, Ordering::Relaxed);
        Ok(read)
    }

    /// Sends once, and again only while the server cannot have seen it.
    pub(super) fn send(&self, runtime: &Runtime, request: &Request) -> Result<Reply, Failure> {
        let may = |failure: &Failure| failure.unsent;
        let once =
            |_: &mut u32| self.answered(runtime, request, false, |reply, _| Ok(reply.clone()));
        self.repeated(runtime, may, once)
    }

    /// One request, until the answer begins.
    pub(super) async fn open(&self, request: &Request) -> Result<Response, Failure> {
        let limit = self.head_limit(request);
        let built = self.build_request(request).map_err(Failure::never)?;
        let pool = Arc::clone(&lock(&self.pool));
        match timeout(self.limits.left(limit), pool.execute(built)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(failure::of_transport(&self.limits.url, error)),
            Err(_) => Err(Failure::never(self.limits.timeout(request.path, None, limit))),
        }
    }

    pub(super) async fn permit<'a>(
        &self,
        permits: &'a Semaphore,
        limit: Duration,
    ) -> Result<SemaphorePermit<'a>, Failure> {
        let busy = || {
            let problem = format!("earlier requests have gone on for {} s", limit.as_secs_f64());
            let error = failure::unavailable(&self.limits.url, problem, None);
            Failure { error, again: Again::Never, unsent: true }
        };
        match timeout(limit, permits.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(busy()),
        }
    }

    /// Status and headers of an answer, without its body.
    pub(super) fn head(&self, response: &Response) -> Reply {
        let headers = response.headers();
        Reply {
            url: self.limits.url.clone(),
            status: response.status().as_u16(),
            content_type: text(headers, "content-type"),
            server: text(headers, "server"),
            location: text(headers, "location"),
            body: Vec::new(),
            secret: self.options.token.clone(),
        }
    }

    /// Drops idle connections.
    fn renew(&self) -> Result<()> {
        let fresh = Arc::new(build(&self.tls, &self.options)?);
        *lock(&self.pool) = fresh;
        Ok(())
    }

    /// The server's address, if it does not use TLS.
    pub(super) fn plain_address(&self) -> Option<(&str, u16)> {
        (self.base.scheme() == "http").then_some(())?;
        // The URL adds brackets to an IPv6 address.
        let host = self.base.host_str()?.trim_matches(['[', ']']);
        Some((host, self.base.port_or_known_default()?))
    }

    /// Longest time to connect.
    pub(super) fn connect_timeout(&self) -> Duration {
        self.options.connect_timeout
    }

    /// Requests something outside XTDB's own paths, once.
    pub(super) fn ask_at_root(&self, runtime: &Runtime, path: &str) -> Option<Reply> {
        let mut url = self.base.clone();
        url.set_path(path);
        let (limit, come) = (self.connect_timeout(), Cell::new(0));
        let pool = Arc::clone(&lock(&self.pool));
        let asked = pool.execute(reqwest::Request::new(Method::GET, url));
        let response = runtime.wait(async { timeout(self.limits.left(limit), asked).await });
        let response = response.ok()?.ok()?;
        let mut reply = self.head(&response);
        Body::new(runtime, &self.limits, response, &come, limit).text(&mut reply).ok()?;
        Some(reply)
    }

    /// Longest time until the server answers, including sending.
    pub(super) fn head_limit(&self, request: &Request) -> Duration {
        let sent = request.body.as_ref().map_or(0, |(_, body)| body.len() as u64);
        let awaits = if request.awaits { self.options.await_timeout } else { Duration::ZERO };
        let begins = self.limits.request_timeout * if request.is_long { 10 } else { 1 };
        begins + awaits + Duration::from_secs(sent) / SLOWEST_LINE
    }

    fn build_request(&self, request: &Request) -> Result<reqwest::Request> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{}", self.base.path(), request.path));
        for (name, value) in &request.parameters {
            url.query_pairs_mut().append_pair(name, value);
        }
        // Some proxies decode a plus sign as a space, others keep it.
        let query = url.query().map(|query| query.replace('+', "%20"));
        url.set_query(query.as_deref());
        if url.as_str().len() > MAX_ADDRESS {
            return Err(Error::argument("id", "is too long for XTDB's addresses"));
        }
        let method = if request.body.is_some() { Method::POST } else { Method::GET };
        let mut built = reqwest::Request::new(method, url);
        let headers = built.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static(request.accept.content_type()));
        if let Some(token) = &self.options.token {
            headers.insert(AUTHORIZATION, token.header());
        }
        if let Some((notation, body)) = &request.body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(notation.content_type()));
            *built.body_mut() = Some(body.clone().into());
        }
        Ok(built)
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

fn build(tls: &rustls::ClientConfig, options: &ClientOptions) -> Result<Client> {
    Client::builder()
        .tls_backend_preconfigured(tls.clone())
        .connect_timeout(options.connect_timeout)
        .pool_max_idle_per_host(options.connections)
        .pool_idle_timeout(IDLE_CONNECTION)
        .redirect(Policy::none())
        .referer(false)
        .no_proxy()
        .http1_only()
        .retry(reqwest::retry::never())
        .user_agent(concat!("palimpsest/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| Error::internal(format!("no HTTP client: {error}")))
}

/// A random part of a span that doubles with each try, so that clients that failed together do not
/// retry together.
fn wait(tries: u32) -> Duration {
    let span = FIRST_WAIT.saturating_mul(1 << tries.min(10)).min(LONGEST_WAIT);
    span.mul_f64(fastrand::f64())
}

/// The address up to and with `/_xtdb/`.
fn base_url(given: &str) -> Result<Url> {
    server_address(given).map_err(|problem| {
        Error::argument("url", format!("`{}` {problem}", address_without_secret(given)))
    })
}

fn shown(base: &Url) -> String {
    base.as_str().trim_end_matches("/_xtdb/").to_owned()
}

/// Limits on a server's answers.
#[derive(Debug)]
pub(super) struct Limits {
    /// The server's address, as errors name it.
    pub(super) url: String,
    /// Most bytes of an answer.
    pub(super) max_body: usize,
    /// How long a request, or a part of an answer, may take.
    pub(super) request_timeout: Duration,
    /// When a person wants to know, and how long that is from the beginning; `None` if nobody waits.
    pub(super) deadline: Option<(Instant, Duration)>,
    /// Answers that came.
    pub(super) answers: AtomicUsize,
}

impl Limits {
    /// How long something may take that may take so long.
    pub(super) fn left(&self, limit: Duration) -> Duration {
        let left = self.deadline.map(|(end, _)| end.saturating_duration_since(Instant::now()));
        left.unwrap_or(limit).min(limit)
    }

    /// Whether nobody waits any more.
    pub(super) fn is_over(&self) -> bool {
        self.left(Duration::MAX).is_zero()
    }

    /// That a request was not answered in time, or its answer did not end: what was asked, and what
    /// came. `limit`: how long that one might have taken.
    pub(super) fn timeout(&self, asked: &str, came: Option<usize>, limit: Duration) -> Error {
        let what = match came {
            None => format!("no answer to `{asked}`"),
            Some(bytes) => format!("of the answer to `{asked}` only {bytes} bytes"),
        };
        let problem = match self.deadline {
            None => format!("{what} within {} s", limit.as_secs_f64()),
            Some((_, all)) => {
                let before = self.answers.load(Ordering::Relaxed);
                let before = match before {
                    0 => String::new(),
                    1 => "; one answer had come before".to_owned(),
                    before => format!("; {before} answers had come before"),
                };
                format!("{what} within {} s in all{before}", all.as_secs_f64())
            }
        };
        failure::unavailable(&self.url, problem, None)
    }
}
