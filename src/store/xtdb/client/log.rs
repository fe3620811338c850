//! The transaction log, read while it comes in: one transaction in memory at a time.

use std::io::{self, BufRead, Read};
use std::ops::ControlFlow;

use reqwest::Response;
use tokio::time::sleep;

use super::answers;
use super::failure::{self, Again, Failure};
use super::http::{self, Http, Notation, Request};
use super::runtime::Runtime;
use super::{super::edn, LoggedTx};
use crate::error::{Error, Result};

/// How often the log is taken up again without a transaction in between.
const MAX_TRIES: u32 = 4;

/// What takes the transactions.
pub(super) type Take<'a> = &'a mut dyn FnMut(LoggedTx) -> Result<ControlFlow<()>>;

/// Reads the log after a transaction, and takes it up again where the connection breaks.
pub(super) fn read(
    runtime: &Runtime,
    http: &Http,
    after: Option<i64>,
    take: Take<'_>,
) -> Result<()> {
    let mut seen = after;
    let mut tries = 1;
    loop {
        let before = seen;
        let failure = match pass(runtime, http, &mut seen, take) {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        tries = if seen == before { tries + 1 } else { 1 };
        if failure.again == Again::Never || tries > MAX_TRIES {
            return Err(failure.error);
        }
        http.renew()?;
        if failure.again == Again::Later || tries > 2 {
            runtime.wait(async { sleep(http::wait(tries)).await });
        }
    }
}

/// Reads until the log ends, breaks, or is not wanted any more.
fn pass(
    runtime: &Runtime,
    http: &Http,
    seen: &mut Option<i64>,
    take: Take<'_>,
) -> Result<(), Failure> {
    let mut request = Request::get("tx-log", Notation::Edn).with("with-ops?", "true");
    if let Some(after) = *seen {
        request = request.with("after-tx-id", after.to_string());
    }
    let mut opened = runtime.wait(http.open(&request))?;
    if opened.response.status() != 200 {
        let reply = runtime.wait(http.body(opened.response))?;
        return Err(failure::of_status(&http.url, &reply));
    }
    answers::expect(&http.url, &http::head(&opened.response), 200)?;
    let body = Body {
        runtime,
        http,
        response: &mut opened.response,
        chunk: Vec::new(),
        at: 0,
        failure: None,
    };
    let mut reader = edn::Reader::new(body);
    let again = |reader: edn::Reader<Body<'_>>, problem: edn::Problem| {
        reader.into_source().failure.unwrap_or_else(|| Failure {
            error: answers::of_notation(&http.url, &problem),
            again: if matches!(problem, edn::Problem::CutOff) {
                Again::AtOnce
            } else {
                Again::Never
            },
            unsent: false,
        })
    };
    if let Err(problem) = reader.enter() {
        return Err(again(reader, problem));
    }
    loop {
        let told = match reader.member() {
            Ok(Some(told)) => told,
            Ok(None) => break,
            Err(problem) => return Err(again(reader, problem)),
        };
        let logged = answers::logged(&http.url, told).map_err(Failure::never)?;
        if seen.is_some_and(|seen| logged.tx.id <= seen) {
            let problem = "has transactions that are not in order";
            return Err(Failure::never(failure::unreadable(&http.url, problem)));
        }
        *seen = Some(logged.tx.id);
        if take(logged).map_err(Failure::never)?.is_break() {
            return Ok(());
        }
    }
    // To the end, so that the connection can be used again.
    match reader.end() {
        Ok(()) => Ok(()),
        Err(problem) => Err(again(reader, problem)),
    }
}

/// The body of an answer as a stream, for a reader on the caller's thread.
struct Body<'a> {
    runtime: &'a Runtime,
    http: &'a Http,
    response: &'a mut Response,
    chunk: Vec<u8>,
    at: usize,
    failure: Option<Failure>,
}

impl BufRead for Body<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.chunk.len() {
            match self.runtime.wait(self.http.chunk(self.response)) {
                Ok(Some(chunk)) => (self.chunk, self.at) = (chunk, 0),
                Ok(None) => break,
                Err(failure) => {
                    let told = io::Error::other(failure.error.to_string());
                    self.failure = Some(failure);
                    return Err(told);
                }
            }
        }
        Ok(&self.chunk[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        self.at = (self.at + amount).min(self.chunk.len());
    }
}

impl Read for Body<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let taken = self.fill_buf()?.read(into)?;
        self.consume(taken);
        Ok(taken)
    }
}

/// For the reader to say what went wrong.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::never(error)
    }
}
