//! `Maintenance.doctor`, `doctor` and `setAside`.

use std::path::Path;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use super::argument::Given;
use super::blocking::{Blocking, blocking};
use super::maintenance::Maintenance;
use store::doctor;

/// The result of checking a store.
#[napi(object)]
pub struct DoctorReport {
    /// The file, or `:memory:`.
    pub path: String,
    /// ID of the store; absent if the file is too damaged to open.
    pub store_id: Option<String>,
    /// Whether there are no findings.
    pub healthy: bool,
    /// Whether the file differs from what was written to it. Findings of the kinds `lost` and `reference` are no damage.
    pub damaged: bool,
    /// The transaction whose state was checked.
    pub as_of: i64,
    /// Counts of what was checked.
    pub checked: DoctorChecked,
    /// The first 200 problems, in the order in which they were found.
    pub findings: Vec<DoctorFinding>,
    /// Number of further problems.
    pub more_findings: i64,
}

/// What was checked.
#[napi(object)]
pub struct DoctorChecked {
    /// Objects: their envelopes and nicknames.
    pub objects: i64,
    /// Versions: their payload hashes and their order in time.
    pub versions: i64,
    /// Distinct contents: their hashes.
    pub contents: i64,
    /// UTF-8 bytes of these.
    pub content_bytes: i64,
    /// Items of chats and sessions: their running hashes and places.
    pub items: i64,
    /// UTF-8 bytes of these.
    pub item_bytes: i64,
    /// Pinned references in fields and items: whether the store holds their versions.
    pub references: i64,
}

/// A problem of a store.
#[napi(object)]
pub struct DoctorFinding {
    /// Kind of the problem.
    #[napi(
        ts_type = "'file' | 'content' | 'version' | 'envelope' | 'items' | 'nickname' | 'time' | 'lost' | 'reference'"
    )]
    pub kind: String,
    /// ID of the object concerned, if there is one.
    pub object: Option<String>,
    /// Transaction of the version concerned, if there is one.
    pub tx_id: Option<i64>,
    /// What is wrong, for people.
    pub problem: String,
    /// What to do about it, for people.
    pub advice: String,
}

/// Checks the store at `path` as `Maintenance.doctor` does, and changes nothing. A store that is too damaged for `openStore`
/// resolves to a report that says so.
///
/// Rejects with `STORE_UNAVAILABLE` (also if there is no such file, if it is another program's database, or if its schema is older
/// than this program's), `STORE_CORRUPT` if it does not begin as a database does, `NOT_PRIVATE`,
/// `NEWER_SCHEMA`, `INVALID_ARGUMENT`.
#[napi(ts_args_type = "path: string", ts_return_type = "Promise<DoctorReport>")]
pub fn doctor(path: Given<String>) -> AsyncTask<Blocking<DoctorReport>> {
    blocking(move || doctor::check_file(Path::new(&path.named("path")?)).map(DoctorReport::from))
}

/// Renames a damaged store, with the files that belong to it, to `NAME.corrupt-N`, and resolves to its new path. The next
/// `openStore` creates a new store. Nothing else calls this.
///
/// `force`: also rename a store that is not damaged, or a file that does not begin as a store does. Default: false.
///
/// Rejects with `INVALID_ARGUMENT` if nothing is damaged, `STORE_UNAVAILABLE` if there is no such file or a store is open
/// there, in this process or another, `FILE`, and as `doctor`.
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
impl Maintenance {
    /// Checks everything in the store as of its newest transaction: every hash, list, nickname and pinned reference, and SQLite's own
    /// checks. Only reads, and works while the store is in use. Takes time in proportion to the store's size.
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
