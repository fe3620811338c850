//! The class `Memory`: stale pages, memory faults and traces, and upkeep while a session is open.
//! Must not decide anything.

use std::path::Path;

use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Json};
use super::blocking::{Answer, Promised};
use super::memory::{Memory, page};
use memory::{CitedChange, CitedReport, Fact, StalePage, StaleReport};

/// A finished tool call, as memory is told of it.
#[napi(object, object_to_js = false)]
pub struct ObservedToolCall {
    /// The tool's name.
    pub tool_name: String,
    /// Its arguments.
    #[napi(ts_type = "unknown")]
    pub args: Json,
    /// The working folder, absolute, from which relative paths count.
    pub cwd: String,
    /// Whether it failed.
    pub is_error: bool,
    /// Whether a store holds its result. Default: false.
    pub is_stored: Option<bool>,
}

#[napi]
impl Memory {
    /// Reports a finished tool call: it may have read pages again that had left the system prompt, or have been made before. Call it for
    /// every call of the host.
    ///
    /// Rejects with `INVALID_ARGUMENT`.
    #[napi(ts_args_type = "call: ObservedToolCall", ts_return_type = "Promise<void>")]
    pub fn observe(&self, call: Given<ObservedToolCall>) -> Promised<()> {
        self.with(move |memory| {
            let ObservedToolCall { tool_name, args, cwd, is_error, is_stored } =
                call.named("call")?;
            let (tool, cwd, is_stored) = (&*tool_name, Path::new(&cwd), is_stored.unwrap_or(false));
            memory.observe(&memory::ToolCall { tool, args: &args.0, cwd, is_error, is_stored });
            Ok(())
        })
    }

    /// Reports that the host compacted the conversation.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn compacted(&self) -> Promised<()> {
        self.with(|memory| {
            memory.compacted();
            Ok(())
        })
    }

    /// The six memory faults with their numbers, in this session and in the traces.
    #[napi(ts_return_type = "Promise<Array<MemoryFaultCount>>")]
    pub fn faults(&self) -> Promised<Answer> {
        self.answer(|memory| {
            memory.look();
            Ok(memory.faults())
        })
    }

    /// The traces of decisions and memory faults, the newest first. The oldest go where they take too much room.
    #[napi(ts_return_type = "Promise<Array<MemoryTrace>>")]
    pub fn traces(&self) -> Promised<Answer> {
        self.answer(|memory| Ok(memory.traces()))
    }

    /// The trace with an ID, or with the only one that begins so.
    ///
    /// Rejects with `NO_TRACE`.
    #[napi(ts_args_type = "id: string", ts_return_type = "Promise<MemoryTrace>")]
    pub fn trace(&self, id: Given<String>) -> Promised<Answer> {
        self.answer(move |memory| memory.trace_of(&id.named("id")?))
    }

    /// Pages that a person may want to look at: those whose cited files changed first, then the oldest. Changes nothing.
    #[napi(ts_return_type = "Promise<Array<StalePage>>")]
    pub fn stale(&self) -> Promised<Answer> {
        self.answer(|memory| Ok(memory.stale().iter().map(stale_page).collect::<Vec<_>>()))
    }

    /// Brings what is known of the pages up to date, and lists those whose cited files changed, with what changed.
    #[napi(ts_return_type = "Promise<Array<StaleReport>>")]
    pub fn verify(&self) -> Promised<Answer> {
        self.answer(|memory| Ok(memory.verify().iter().map(stale_report).collect::<Vec<_>>()))
    }

    /// Confirms a page: it counts as written today, with the files that it cites as they are now. `id`: its ID, or the beginning of only
    /// its. Resolves to the ID.
    ///
    /// Rejects with `NO_PAGE`.
    #[napi(ts_args_type = "id: string", ts_return_type = "Promise<string>")]
    pub fn confirm(&self, id: Given<String>) -> Promised<String> {
        self.with(move |memory| Ok(memory.confirm(&id.named("id")?)?.to_string()))
    }

    /// Confirms all marked pages that cite a file. Resolves to their IDs.
    ///
    /// `file`: its path as in `CitedFile`.
    #[napi(ts_args_type = "file: string", ts_return_type = "Promise<Array<string>>")]
    pub fn confirm_all_of(&self, file: Given<String>) -> Promised<Answer> {
        self.answer(move |memory| {
            let confirmed = memory.confirm_all_of(&file.named("file")?);
            Ok(confirmed.iter().map(ToString::to_string).collect::<Vec<_>>())
        })
    }

    /// What there is of memory: settings, scopes with their files, pages, and how much of it the model has. Changes nothing.
    #[napi(ts_return_type = "Promise<MemoryOverview>")]
    pub fn overview(&self) -> Promised<Answer> {
        self.answer(|memory| Ok(memory.overview()))
    }
}

fn stale_page(found: &StalePage) -> Value {
    json!({
        "page": page(&found.page),
        "facts": facts(&found.fact),
        "reasons": found.doubts,
        "cited": cited_files(&found.cited),
    })
}

fn facts(fact: &Fact) -> Value {
    let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    json!({
        "confirmed": fact.confirmed,
        "uses": fact.uses,
        "used": said(&fact.used),
        "origin": said(&fact.origin),
    })
}

fn stale_report(report: &StaleReport) -> Value {
    json!({ "page": page(&report.page), "cited": cited_files(&report.cited) })
}

fn cited_files(cited: &[CitedReport]) -> Vec<Value> {
    let file = |cited: &CitedReport| {
        let moved_to = match &cited.change {
            CitedChange::Moved { to } => Some(to),
            _ => None,
        };
        json!({
            "path": cited.path,
            "place": cited.place,
            "change": cited.change.as_str(),
            "movedTo": moved_to,
            "before": cited.before,
            "now": cited.now,
            "diff": cited.diff,
        })
    };
    cited.iter().map(file).collect()
}
