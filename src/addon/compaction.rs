//! Asks what a host that is about to compact should do. Must not decide it.

use napi_derive::napi;

use super::argument::Given;
use super::blocking::{Answer, Promised};
use super::crossing::{Crossed, call_info, in_json};
use super::session::Session;
use base::error::{Error, Result};
use context::host_compaction::{self, Reason};

/// A compaction that the host is about to make.
#[napi(object)]
pub struct HostCompaction {
    /// Why: the person asked for it; the window is nearly full; a request was refused as too long, or its answer cut short.
    #[napi(ts_type = "\"manual\" | \"threshold\" | \"overflow\"")]
    pub reason: String,
    /// Whether the host makes the newest call again afterwards.
    pub retries: bool,
    /// Index in the list of the first message that would stay.
    pub kept_from: i64,
    /// Tokens of the window that the host keeps free. Default: 16,384.
    pub reserved_tokens: Option<i64>,
}

#[napi]
impl Session {
    /// Resolves to an answer as `Session.answerCompaction` of `index.d.ts` gives it. `messages`: the whole list, as for `transform`.
    /// `call`: what the next call would be made with, JSON.
    #[napi(
        ts_args_type = "messages: Array<string | Array<string>>, call: string, compaction: HostCompaction",
        ts_return_type = "Promise<CompactionAnswer>"
    )]
    pub fn answer_compaction(
        &self,
        messages: Vec<Crossed>,
        call: String,
        compaction: Given<HostCompaction>,
    ) -> Promised<Answer> {
        self.answer(move |session| {
            let asked = asked(&compaction.named("compaction")?)?;
            session.answer_compaction(in_json(messages), &call_info(&call)?, &asked)
        })
    }
}

fn asked(given: &HostCompaction) -> Result<host_compaction::HostCompaction> {
    let reason = match given.reason.as_str() {
        "manual" => Reason::Manual,
        "threshold" => Reason::Threshold,
        "overflow" => Reason::Overflow,
        other => {
            let problem = format!("`{other}` is none of `manual`, `threshold`, `overflow`");
            return Err(Error::argument("compaction.reason", problem));
        }
    };
    let kept_from = usize::try_from(given.kept_from)
        .map_err(|_| Error::argument("compaction.keptFrom", "is negative"))?;
    let reserved = given.reserved_tokens.map(u64::try_from).transpose();
    let reserved =
        reserved.map_err(|_| Error::argument("compaction.reservedTokens", "is negative"))?;
    Ok(host_compaction::HostCompaction { reason, retries: given.retries, kept_from, reserved })
}
