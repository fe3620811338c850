//! `Maintenance.doctor`, `doctor` and `setAside`.

use std::path::Path;

use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Maybe};
use super::blocking::{Answer, OnWorker, Promised, answering, blocking};
use super::maintenance::Maintenance;
use super::progress::{Listener, told};
use store::doctor;

/// Checks the store at `path` as `Maintenance.doctor` does, and changes nothing. A store that is too damaged for `openStore`
/// resolves to a report that says so.
///
/// Rejects with `STORE_UNAVAILABLE` (also if there is no such file, if it is another program's database, or if its schema is older
/// than this program's), `STORE_CORRUPT` if it does not begin as a database does, `NOT_PRIVATE`,
/// `NEWER_SCHEMA`, `INVALID_ARGUMENT`.
///
/// `deep`: check everything; otherwise, of a store of more than 2,000 versions, only what was written last. Default: true.
/// `onProgress` is called with the number of contents, versions and objects checked.
#[napi(
    ts_args_type = "path: string, deep?: boolean | undefined | null, onProgress?: (progress: StoreProgress) => void",
    ts_return_type = "Promise<DoctorReport>"
)]
pub fn doctor(
    path: Given<String>,
    deep: Maybe<bool>,
    on_progress: Maybe<Listener>,
) -> Promised<Answer> {
    answering(move || {
        let deep = deep.named("deep")?.unwrap_or(true);
        let path = path.named("path")?;
        doctor::check_file(Path::new(&path), deep, &mut told(on_progress)?).map(|it| reported(&it))
    })
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
pub fn set_aside(path: Given<String>, force: Maybe<bool>) -> Promised<String> {
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
    pub fn doctor(&self) -> Promised<Answer> {
        self.answer(move |Self { core, .. }| doctor::check(core).map(|report| reported(&report)))
    }
}

fn reported(report: &doctor::Report) -> Value {
    let mut answer = json!(report);
    answer["healthy"] = json!(report.is_healthy());
    answer["damaged"] = json!(report.is_damaged());
    for (at, finding) in report.findings.iter().enumerate() {
        answer["findings"][at]["advice"] = json!(finding.kind.advice());
    }
    answer
}
