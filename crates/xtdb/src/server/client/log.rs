//! Reads the transaction log as it arrives, with one transaction in memory at a time, bounded like
//! a whole answer.
//!
//! Each read sends two requests at once. The JSON answer has the operations, with documents as they
//! were put; only the EDN answer has times to the millisecond, and it comes without operations.

use std::cell::Cell;
use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;

use serde::Deserializer;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::super::edn;
use super::body::Body;
use super::failure::{self, Again, Failure};
use super::http::{Http, Notation, Request};
use super::runtime::Runtime;
use super::{LoggedTx, Tx, answers};
use base::error::Result;
use base::object::Room;

/// Receives the transactions.
pub(super) type Take<'a> = &'a mut dyn FnMut(LoggedTx) -> Result<ControlFlow<()>>;

/// Reads the log after a transaction, and resumes if the connection breaks.
pub(super) fn read(
    runtime: &Runtime,
    http: &Http,
    after: Option<i64>,
    take: Take<'_>,
) -> Result<()> {
    let permit = http.permit(&http.log_permit, http.limits.request_timeout);
    let _permit = runtime.wait(permit).map_err(|failure| failure.error)?;
    let mut seen = after;
    let once = |tries: &mut u32| {
        let before = seen;
        let passed = pass(runtime, http, &mut seen, take);
        *tries = if seen == before { *tries } else { 1 };
        passed
    };
    http.repeated(runtime, |_| true, once).map_err(|failure| failure.error)
}

/// Reads until the log ends, breaks, or is no longer wanted.
fn pass(
    runtime: &Runtime,
    http: &Http,
    seen: &mut Option<i64>,
    take: Take<'_>,
) -> Result<(), Failure> {
    let request = |accept| {
        let request = Request::get("tx-log", accept);
        match *seen {
            Some(after) => request.with("after-tx-id", after.to_string()),
            None => request,
        }
    };
    let come = Cell::new(0);
    let times = open(runtime, http, &request(Notation::Edn), &come)?;
    let mut with_ops = request(Notation::Json).with("with-ops?", "true");
    with_ops.is_long = true;
    let mut ops = open(runtime, http, &with_ops, &come)?;
    let mut times = edn::Reader::new(times);
    if let Err(problem) = times.enter() {
        return Err(of_times(&mut times, &problem));
    }
    let mut ended = None;
    let transactions =
        Transactions { url: &http.limits.url, times, seen, take, come: &come, ended: &mut ended };
    let mut json = serde_json::Deserializer::from_reader(&mut ops);
    let read = json.deserialize_seq(transactions).and_then(|()| json.end());
    drop(json);
    match (ended, read) {
        (Some(ended), _) => ended,
        (None, Ok(())) => Ok(()),
        (None, Err(error)) => Err(ops.failure.take().unwrap_or_else(|| {
            let is_cut = error.is_eof();
            let problem =
                if is_cut { "is cut off".to_owned() } else { format!("is not a log ({error})") };
            let again = if is_cut { Again::AtOnce } else { Again::Never };
            Failure::sent(failure::unreadable(&http.limits.url, problem), again)
        })),
    }
}

/// Takes the operations of one transaction after another, and finds the time of each.
struct Transactions<'a> {
    url: &'a str,
    times: edn::Reader<Body<'a>>,
    seen: &'a mut Option<i64>,
    take: Take<'a>,
    come: &'a Cell<usize>,
    /// How it ended, if not with the end of the list.
    ended: &'a mut Option<Result<(), Failure>>,
}

impl<'de> Visitor<'de> for Transactions<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of transactions")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(told) = list.next_element::<Box<RawValue>>()? {
            match self.transaction(&told) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => {
                    *self.ended = Some(Ok(()));
                    return Err(A::Error::custom("enough"));
                }
                Err(failure) => {
                    *self.ended = Some(Err(failure));
                    return Err(A::Error::custom("failed"));
                }
            }
        }
        // Reads to the end, so that the connection can be reused; errors there do not affect what
        // was taken.
        let _ = self.times.member().map(|_| self.times.end());
        Ok(())
    }
}

impl Transactions<'_> {
    fn transaction(&mut self, told: &RawValue) -> Result<ControlFlow<()>, Failure> {
        self.come.set(0);
        let room = Room::for_answers();
        let (id, puts) = answers::logged_puts(self.url, told, &room).map_err(Failure::never)?;
        // Transactions logged after the times were requested come next time.
        let Some(tx) = self.time()? else { return Ok(ControlFlow::Break(())) };
        if tx.id != id || self.seen.is_some_and(|seen| id <= seen) {
            let problem = "has other transactions than the one before, or in another order";
            return Err(Failure::sent(failure::unreadable(self.url, problem), Again::AtOnce));
        }
        let next =
            (self.take)(LoggedTx { tx, puts, bytes: room.taken() }).map_err(Failure::never)?;
        *self.seen = Some(id);
        Ok(next)
    }

    fn time(&mut self) -> Result<Option<Tx>, Failure> {
        match self.times.member() {
            Ok(Some(told)) => {
                answers::logged_time(self.url, &told).map(Some).map_err(Failure::never)
            }
            Ok(None) => Ok(None),
            Err(problem) => Err(of_times(&mut self.times, &problem)),
        }
    }
}

/// Why the times cannot be read.
fn of_times(times: &mut edn::Reader<Body<'_>>, problem: &io::Error) -> Failure {
    let body = times.source_mut();
    let is_cut = problem.kind() == ErrorKind::UnexpectedEof;
    let again = if is_cut { Again::AtOnce } else { Again::Never };
    let failed = || Failure::sent(answers::of_notation(&body.limits.url, problem), again);
    body.failure.take().unwrap_or_else(failed)
}

/// The body of an answer to a request.
fn open<'a>(
    runtime: &'a Runtime,
    http: &'a Http,
    request: &Request,
    come: &'a Cell<usize>,
) -> Result<Body<'a>, Failure> {
    let response = runtime.wait(http.open(request))?;
    let mut reply = http.head(&response);
    let mut body = Body::new(runtime, &http.limits, response, come, http.head_limit(request));
    if reply.expect(200).is_err() {
        body.text(&mut reply)?;
        return Err(failure::of_status(&reply));
    }
    Ok(body)
}
