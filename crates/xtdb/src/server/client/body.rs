//! The body of an answer as a stream, for a reader on the caller's thread: bounded in bytes and in
//! the time spent waiting for it. Must not know what it says.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::time::Duration;

use reqwest::Response;
use tokio::time::{Instant, timeout};

use super::failure::{self, Failure};
use super::http::{Limits, MAX_ERROR, MAX_SHORT, SLOWEST_LINE};
use super::reply::Reply;
use super::runtime::Runtime;

/// The cost of a part of a body in addition to its bytes: a server may send them one by one.
const PART: usize = 256;

/// A body that is being read.
pub(super) struct Body<'a> {
    runtime: &'a Runtime,
    pub(super) limits: &'a Limits,
    response: Response,
    chunk: Vec<u8>,
    at: usize,
    /// Bytes received by all bodies that share this counter; whoever has processed them may reset
    /// it.
    come: &'a Cell<usize>,
    /// How long to wait for it, in addition to the time that its bytes take on the slowest line.
    patience: Duration,
    waited: Duration,
    /// Why reading failed.
    pub(super) failure: Option<Failure>,
}

impl<'a> Body<'a> {
    pub(super) fn new(
        runtime: &'a Runtime,
        limits: &'a Limits,
        response: Response,
        come: &'a Cell<usize>,
        patience: Duration,
    ) -> Self {
        let (chunk, at, waited) = (Vec::new(), 0, Duration::ZERO);
        Self { runtime, limits, response, chunk, at, come, patience, waited, failure: None }
    }

    /// Reads it into an answer: all of it if it is the expected kind, otherwise only the beginning.
    pub(super) fn text(&mut self, reply: &mut Reply) -> Result<(), Failure> {
        let most = if reply.is_wanted() { MAX_SHORT } else { MAX_ERROR };
        while let Some(chunk) = self.next_chunk()? {
            reply.body.extend_from_slice(&chunk);
            if self.come.get() > most {
                if reply.is_wanted() {
                    return Err(too_long(&self.limits.url, most));
                }
                reply.body.truncate(most);
                break;
            }
        }
        Ok(())
    }

    fn next_chunk(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let start = Instant::now();
        let left = self.patience.saturating_sub(self.waited);
        let limit = self.limits.left(left.min(self.limits.request_timeout));
        let response = &mut self.response;
        let chunk = match self.runtime.wait(async { timeout(limit, response.chunk()).await }) {
            Ok(Ok(chunk)) => chunk.map(|chunk| chunk.to_vec()),
            Ok(Err(error)) => return Err(failure::of_transport(&self.limits.url, error)),
            Err(_) => {
                let asked = response.url().path().rsplit('/').next().unwrap_or_default();
                let (come, limit) = (Some(self.come.get()), self.limits.request_timeout);
                return Err(Failure::never(self.limits.timeout(asked, come, limit)));
            }
        };
        self.waited += start.elapsed();
        let length = chunk.as_ref().map_or(0, Vec::len);
        self.patience += Duration::from_secs(length as u64) / SLOWEST_LINE;
        self.come.set(self.come.get() + length + PART);
        if self.come.get() > self.limits.max_body {
            return Err(too_long(&self.limits.url, self.limits.max_body));
        }
        Ok(chunk)
    }
}

fn too_long(url: &str, most: usize) -> Failure {
    Failure::never(failure::unreadable(url, format!("has more than {most} bytes without an end")))
}

impl BufRead for Body<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.chunk.len() {
            match self.next_chunk() {
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
