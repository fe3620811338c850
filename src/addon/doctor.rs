//! `Store.doctor`, `doctor` and `setAside`.
use std::path::Path;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use super::argument::Given;
use super::blocking::{Blocking, blocking};
use super::store::Store;
use crate::store::doctor;

/// What a check of a store looked at and found.
#[napi(object)]
pub struct DoctorReport {
    /// The file, or `:memory:`.
    pub path: String,
    /// ID of the store; absent where the file is so damaged that it cannot be opened.
    pub store_id: Option<String>,
    /// Whether nothing is wrong.
    pub healthy: bool,
    /// Whether something in the file is not what was written; findings of kind `lost` and `reference` alone are no damage.
    pub damaged: bool,
    /// The transaction as of which everything was checked.
    pub as_of: i64,
    /// Counts of what was checked.
    pub checked: DoctorChecked,
    /// What is wrong, in the order in which it was found; at most 200.
    pub findings: Vec<DoctorFinding>,
    /// Findings that are not listed.
    pub more_findings: i64,
}

/// Counts of what a check looked at.
#[napi(object)]
pub struct DoctorChecked {
    /// Objects: envelope, nicknames.
    pub objects: i64,
    /// Versions: payload hash, order in time.
    pub versions: i64,
    /// Distinct contents: hash.
    pub contents: i64,
    /// UTF-8 bytes of these.
    pub content_bytes: i64,
    /// Items of chats and sessions: running hash, place.
    pub items: i64,
    /// UTF-8 bytes of these.
    pub item_bytes: i64,
    /// Pinned references in fields and items: whether the store holds the version.
    pub references: i64,
}

/// One thing that is wrong with a store.
#[napi(object)]
pub struct DoctorFinding {
    /// What kind of thing.
    #[napi(
        ts_type = "'file' | 'content' | 'version' | 'envelope' | 'items' | 'nickname' | 'time' | 'lost' | 'reference'"
    )]
    pub kind: String,
    /// The object that it concerns, where it is one.
    pub object: Option<String>,
    /// The transaction of the version that it concerns.
    pub tx_id: Option<i64>,
    /// What is wrong, for people.
    pub problem: String,
    /// What can be done about it, for people.
    pub advice: String,
}

/// Checks the store at `path`, as `Store.doctor` does, and changes nothing there. Also for a file that `openStore` refuses:
/// one that is damaged so that it cannot be opened resolves to a report that says so.
///
/// Rejects with `STORE_UNAVAILABLE` (also where there is no file, or its schema is older than this program's),
/// `NEWER_SCHEMA`, `INVALID_ARGUMENT`.
#[napi(ts_args_type = "path: string", ts_return_type = "Promise<DoctorReport>")]
pub fn doctor(path: Given<String>) -> AsyncTask<Blocking<DoctorReport>> {
    blocking(move || doctor::check_file(Path::new(&path.named("path")?)).map(DoctorReport::from))
}

/// Moves a damaged store to `NAME.corrupt-N`, with the files that belong to it, and resolves to its new place. The next
/// `openStore` makes a new store. Never done unasked.
///
/// `force`: also where nothing is damaged. Default: false.
///
/// Rejects with `INVALID_ARGUMENT` if nothing is damaged, `STORE_UNAVAILABLE` if there is no such file or a store is open
/// there, in this process or another, `FILE`, `NEWER_SCHEMA`.
#[napi(
    ts_args_type = "path: string, force?: boolean | undefined | null",
    ts_return_type = "Promise<string>"
)]
pub fn set_aside(path: Given<String>, force: Given<Option<bool>>) -> AsyncTask<Blocking<String>> {
    blocking(move || {
        let force = force.named("force")?.unwrap_or_default();
        let place = doctor::set_aside(Path::new(&path.named("path")?), force)?;
        Ok(place.to_string_lossy().into_owned())
    })
}

#[napi]
impl Store {
    /// Checks everything that the store holds, as of its newest transaction, while it is in use: every hash, list, nickname
    /// and pinned reference, and SQLite's own checks. Reads only. Takes a time in proportion to the store's size.
    ///
    /// Rejects with `CLOSED`.
    #[napi(ts_return_type = "Promise<DoctorReport>")]
    pub fn doctor(&self) -> AsyncTask<Blocking<DoctorReport>> {
        let core = self.core.clone();
        blocking(move || doctor::check(&core).map(DoctorReport::from))
    }
}

impl From<doctor::Report> for DoctorReport {
    fn from(report: doctor::Report) -> Self {
        let (healthy, damaged) = (report.is_healthy(), report.is_damaged());
        let checked = report.checked;
        Self {
            path: report.path,
            store_id: report.store_id,
            healthy,
            damaged,
            as_of: report.as_of.0,
            checked: DoctorChecked {
                objects: number(checked.objects),
                versions: number(checked.versions),
                contents: number(checked.contents),
                content_bytes: number(checked.content_bytes),
                items: number(checked.items),
                item_bytes: number(checked.item_bytes),
                references: number(checked.references),
            },
            findings: report.findings.into_iter().map(DoctorFinding::from).collect(),
            more_findings: number(report.more_findings),
        }
    }
}

impl From<doctor::Finding> for DoctorFinding {
    fn from(finding: doctor::Finding) -> Self {
        Self {
            kind: finding.kind.as_str().to_owned(),
            object: finding.object.map(|id| id.as_str().to_owned()),
            tx_id: finding.tx_id.map(|tx_id| tx_id.0),
            problem: finding.problem,
            advice: finding.kind.advice().to_owned(),
        }
    }
}

/// A count as a JavaScript number.
fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
