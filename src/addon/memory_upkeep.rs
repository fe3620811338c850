//! The class `Memory`: stale pages, memory faults and traces, and upkeep while a session is open.
//! Must not decide anything.

use std::path::Path;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use serde::Serialize;
use serde_json::Value;

use super::argument::Given;
use super::blocking::{Blocking, Json};
use super::memory::{Memory, MemoryPage, page};
use super::memory_writes::json;

/// A finished tool call, as memory is told of it.
#[napi(object)]
pub struct ObservedToolCall {
    /// The tool's name.
    pub tool_name: String,
    /// Its arguments.
    #[napi(ts_type = "unknown")]
    pub args: Value,
    /// The working folder, absolute, from which relative paths count.
    pub cwd: String,
    /// Whether it failed.
    pub is_error: bool,
    /// Whether a store holds its result. Default: false.
    pub is_stored: Option<bool>,
}

/// What is known of a page besides its Markdown.
#[napi(object, use_nullable = true)]
pub struct PageFacts {
    /// The day on which it was written, edited or confirmed: `2030-01-31`.
    pub confirmed: String,
    /// On how many days it was read or recalled.
    pub uses: i64,
    /// The last of them; null if there is none.
    pub used: Option<String>,
    /// Where it was imported from; null if it was not.
    pub origin: Option<String>,
}

/// A page that a person may want to look at.
#[napi(object)]
pub struct StalePage {
    /// The page.
    pub page: MemoryPage,
    /// What is known of it.
    pub facts: PageFacts,
    /// Why; at least one reason.
    #[napi(ts_type = "MemoryDoubt[]")]
    pub reasons: Vec<Value>,
    /// The cited files that changed.
    pub cited: Vec<CitedFile>,
}

/// A page whose cited files changed since it was written or confirmed.
#[napi(object)]
pub struct StaleReport {
    /// The page.
    pub page: MemoryPage,
    /// The cited files that changed.
    pub cited: Vec<CitedFile>,
}

/// A cited file that changed.
#[napi(object, use_nullable = true)]
pub struct CitedFile {
    /// Its path, relative to the project, or absolute, or from `~` on.
    pub path: String,
    /// The place in it that was pinned: the path, or `path:first-last` in lines from 1.
    pub place: String,
    /// What became of it. `contradicted`: the place changed, and something that the entry names stands there no more, or the place is not
    /// there any more. `touched`: it changed, and what the entry names still stands there. `moved`: another file of the project says it now.
    #[napi(ts_type = "'contradicted' | 'touched' | 'moved' | 'gone'")]
    pub change: String,
    /// The path of the file that says it now, relative to the project; null unless it moved.
    pub moved_to: Option<String>,
    /// SHA-256 of what it said, line ends as LF.
    pub before: String,
    /// The same of what it says now; null if it is gone.
    pub now: Option<String>,
    /// Unified diff of the place; null if neither the store nor git has what it said, or it may not be shown.
    pub diff: Option<String>,
}

#[napi]
impl Memory {
    /// Reports a finished tool call: it may have read pages again that had left the system prompt, or have been made before. Call it for
    /// every call of the host.
    ///
    /// Rejects with `INVALID_ARGUMENT`.
    #[napi(ts_args_type = "call: ObservedToolCall", ts_return_type = "Promise<void>")]
    pub fn observe(&self, call: Given<ObservedToolCall>) -> AsyncTask<Blocking<()>> {
        self.with(move |memory| {
            let ObservedToolCall { tool_name, args, cwd, is_error, is_stored } =
                call.named("call")?;
            let (tool, cwd, is_stored) = (&*tool_name, Path::new(&cwd), is_stored.unwrap_or(false));
            memory.observe(&memory::ToolCall { tool, args: &args, cwd, is_error, is_stored });
            Ok(())
        })
    }

    /// Reports that the host compacted the conversation.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn compacted(&self) -> AsyncTask<Blocking<()>> {
        self.with(|memory| {
            memory.compacted();
            Ok(())
        })
    }

    /// The six memory faults with their numbers, in this session and in the traces.
    #[napi(ts_return_type = "Promise<Array<MemoryFaultCount>>")]
    pub fn faults(&self) -> AsyncTask<Blocking<Json>> {
        self.with(|memory| {
            memory.look();
            json(&memory.faults())
        })
    }

    /// The traces of decisions and memory faults, the newest first. The oldest go where they take too much room.
    #[napi(ts_return_type = "Promise<Array<MemoryTrace>>")]
    pub fn traces(&self) -> AsyncTask<Blocking<Json>> {
        self.with(|memory| json(&memory.traces()))
    }

    /// The trace with an ID, or with the only one that begins so.
    ///
    /// Rejects with `NO_TRACE`.
    #[napi(ts_args_type = "id: string", ts_return_type = "Promise<MemoryTrace>")]
    pub fn trace(&self, id: Given<String>) -> AsyncTask<Blocking<Json>> {
        self.with(move |memory| json(&memory.trace_of(&id.named("id")?)?))
    }

    /// Pages that a person may want to look at: those whose cited files changed first, then the oldest. Changes nothing.
    #[napi(ts_return_type = "Promise<Array<StalePage>>")]
    pub fn stale(&self) -> AsyncTask<Blocking<Vec<StalePage>>> {
        self.with(|memory| memory.stale().into_iter().map(stale_page).collect())
    }

    /// Brings what is known of the pages up to date, and lists those whose cited files changed, with what changed.
    #[napi(ts_return_type = "Promise<Array<StaleReport>>")]
    pub fn verify(&self) -> AsyncTask<Blocking<Vec<StaleReport>>> {
        self.with(|memory| Ok(memory.verify().into_iter().map(stale_report).collect()))
    }

    /// Confirms a page: it counts as written today, with the files that it cites as they are now. `id`: its ID, or the beginning of only
    /// its. Resolves to the ID.
    ///
    /// Rejects with `NO_PAGE`.
    #[napi(ts_args_type = "id: string", ts_return_type = "Promise<string>")]
    pub fn confirm(&self, id: Given<String>) -> AsyncTask<Blocking<String>> {
        self.with(move |memory| Ok(memory.confirm(&id.named("id")?)?.to_string()))
    }
}

fn stale_page(found: memory::StalePage) -> base::error::Result<StalePage> {
    let reasons = found.doubts.iter().map(value).collect::<base::error::Result<_>>()?;
    let (page, cited) = (page(&found.page), found.cited.into_iter().map(cited_file).collect());
    Ok(StalePage { page, facts: facts(found.fact), reasons, cited })
}

fn value(doubt: &impl Serialize) -> base::error::Result<Value> {
    Ok(json(doubt)?.0)
}

fn facts(fact: memory::Fact) -> PageFacts {
    let said = |text: String| Some(text).filter(|text| !text.is_empty());
    PageFacts {
        confirmed: fact.confirmed,
        uses: i64::try_from(fact.uses).unwrap_or(i64::MAX),
        used: said(fact.used),
        origin: said(fact.origin),
    }
}

fn stale_report(report: memory::StaleReport) -> StaleReport {
    let cited = report.cited.into_iter().map(cited_file).collect();
    StaleReport { page: page(&report.page), cited }
}

fn cited_file(cited: memory::CitedReport) -> CitedFile {
    CitedFile {
        path: cited.path,
        place: cited.place,
        change: cited.change.as_str().to_owned(),
        moved_to: match cited.change {
            memory::CitedChange::Moved { to } => Some(to),
            _ => None,
        },
        before: cited.before.to_string(),
        now: cited.now.map(|hash| hash.to_string()),
        diff: cited.diff,
    }
}
