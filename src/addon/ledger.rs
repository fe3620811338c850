//! The ledger: records what providers report and what calls cost.

use napi_derive::napi;

use super::argument::Given;
use super::blocking::{Answer, OnWorker, Promised};
use super::session::Session;
use super::store::Store;
use base::error::{Error, Result};
use session::{ReportKind, Reported};

/// What a provider said that a request used. A report without any input is ignored.
#[napi(object)]
pub struct UsageReport {
    /// `call`: a call to the model. `cache_warm`: a request that only kept the cache of the newest call alive.
    #[napi(ts_type = "\"call\" | \"cache_warm\"")]
    pub kind: String,
    /// Number of the call. 0 is a call that went out with the host's own messages. Default: the newest call.
    pub call: Option<i64>,
    /// The host's ID of the report. A report with a known ID is ignored.
    pub id: Option<String>,
    /// When the request was made, in milliseconds since 1970. Required for `cache_warm`.
    pub time: Option<i64>,
    /// Tokens of input neither read from the cache nor written to it.
    pub input: i64,
    /// Tokens read from the cache.
    pub cache_read: i64,
    /// Tokens written to the cache.
    pub cache_write: i64,
    /// Tokens of output.
    pub output: i64,
}

#[napi]
impl Session {
    /// See `Session.recordUsage` of `index.d.ts`.
    #[napi(ts_args_type = "report: UsageReport", ts_return_type = "Promise<void>")]
    pub fn record_usage(&self, report: Given<UsageReport>) -> Promised<()> {
        self.with(move |session| session.record_usage(reported(report.named("report")?)?))
    }

    /// See `Session.ledger` of `index.d.ts`.
    #[napi(ts_return_type = "Promise<Ledger>")]
    pub fn ledger(&self) -> Promised<Answer> {
        self.answer(live::LiveSession::statement)
    }
}

#[napi]
impl Store {
    /// The bill of a session in short, for lists: the same figures as in `ledger`, without reading the whole session again where
    /// nothing was written to it.
    ///
    /// `session`: as in `recordedCall`. Rejects as `ledger`.
    #[napi(ts_args_type = "session: string", ts_return_type = "Promise<SessionBill>")]
    pub fn bill(&self, session: Given<String>) -> Promised<Answer> {
        self.answer(move |Self { core: store, .. }| {
            let session = live::find_session(store, &session.named("session")?)?;
            live::bill_of(store, &session)
        })
    }

    /// What the calls of a session cost beside the plain host.
    ///
    /// `session`: as in `recordedCall`. Rejects with `UNKNOWN_NAME`, `AMBIGUOUS_NAME` and `FORGOTTEN`.
    #[napi(ts_args_type = "session: string", ts_return_type = "Promise<Ledger>")]
    pub fn ledger(&self, session: Given<String>) -> Promised<Answer> {
        self.answer(move |Self { core: store, .. }| {
            let session = live::find_session(store, &session.named("session")?)?;
            live::statement(store, &session)
        })
    }
}

fn reported(report: UsageReport) -> Result<Reported> {
    let kind = match report.kind.as_str() {
        "call" => ReportKind::Call,
        "cache_warm" => ReportKind::CacheWarm,
        other => {
            return Err(Error::argument(
                "kind",
                format!("is `{other}`, which is not a kind of report"),
            ));
        }
    };
    let count = |name: &'static str, value: i64| {
        u64::try_from(value).map_err(|_| Error::argument(name, format!("`{value}` is negative")))
    };
    Ok(Reported {
        call: report.call.map(|call| count("call", call)).transpose()?,
        kind,
        id: report.id,
        time: report.time,
        input: count("input", report.input)?,
        cache_read: count("cacheRead", report.cache_read)?,
        cache_write: count("cacheWrite", report.cache_write)?,
        output: count("output", report.output)?,
    })
}
