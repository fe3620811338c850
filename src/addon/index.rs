//! Indexing files: `Store.index`.

use std::path::PathBuf;

use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Maybe};
use super::blocking::{Answer, OnWorker, Promised};
use super::progress::{Listener, tell};
use super::store::Store;
use base::path::absolute_path;
use memory::StoreAccess;
use source::{IndexReport, IndexedFile, WalkProblem};

/// How to index paths.
#[napi(object)]
#[derive(Default)]
pub struct IndexOptions {
    /// Folder that relative paths count from, absolute. Default: the process's working folder.
    pub cwd: Option<String>,
    /// Whether to index hidden and ignored files too, but never `.git`. Default: `false`.
    pub all: Option<bool>,
}

/// Number of files between two calls of the listener.
const PROGRESS_EVERY: usize = 50;

#[napi]
impl Store {
    /// Stores the files at and under `paths`: text files with their content, binary and large files without it. Unchanged files are
    /// not written. A file under `paths` that the store knows and that is gone gets a version without content.
    ///
    /// Hidden files and those that `.gitignore` names are left out, unless `paths` names them. The settings `maxTextBytes`,
    /// `filesystemId` and `exclude` given to `openStore` apply. `onProgress` is called with the number of files done, after every 50.
    ///
    /// Rejects with `INVALID_ARGUMENT` and with what the store reports. A transaction holds at most 200 files; those that were
    /// committed before an error stay.
    #[napi(
        ts_args_type = "paths: string[], options?: IndexOptions, onProgress?: (files: number) => void",
        ts_return_type = "Promise<IndexReport>"
    )]
    pub fn index(
        &self,
        paths: Given<Vec<String>>,
        options: Maybe<IndexOptions>,
        on_progress: Maybe<Listener>,
    ) -> Promised<Answer> {
        self.answer(move |store| {
            let options = options.or_default("options")?;
            let listener = on_progress.named("onProgress")?;
            let place = store.place(options.cwd)?;
            let paths: Vec<PathBuf> =
                paths.named("paths")?.iter().map(|path| absolute_path(path, &place.cwd)).collect();
            let options = source::IndexOptions {
                files: place.files,
                all: options.all.unwrap_or(false),
                max_text_bytes: store.settings.max_text_bytes,
                exclude: store.settings.excluded()?,
            };
            let report = source::index_paths(&store.core, &paths, &options, throttled(listener))?;
            Ok(converted(&report))
        })
    }
}

impl Store {
    /// How memory puts its files into the store.
    pub(super) fn access(&self) -> StoreAccess {
        let store = self.clone();
        StoreAccess::new(self.core.clone(), move || {
            let (files, settings) = (store.place(None)?.files, &store.settings);
            let (max_text_bytes, exclude) = (settings.max_text_bytes, settings.excluded()?);
            Ok(source::IndexOptions { files, all: false, max_text_bytes, exclude })
        })
    }
}

/// Calls the listener, but not for every file.
fn throttled(listener: Option<Listener>) -> impl Fn(usize) {
    move |files| {
        if files % PROGRESS_EVERY == 0 {
            tell(listener.as_ref(), json!(files));
        }
    }
}

fn converted(report: &IndexReport) -> Value {
    let problems = |problems: &[WalkProblem]| -> Value {
        let path = |found: &WalkProblem| found.path.to_string_lossy().into_owned();
        problems
            .iter()
            .map(|found| json!({ "path": path(found), "problem": found.problem }))
            .collect()
    };
    let file = |file: &IndexedFile| indexed_file(("outcome", file.outcome.as_str()), file);
    json!({
        "files": report.files.iter().map(file).collect::<Vec<_>>(),
        "failed": problems(&report.failed),
        "skipped": problems(&report.skipped),
    })
}

/// A file that was stored or not. `said`: the member that says so, and what it says.
pub(super) fn indexed_file((name, said): (&str, &str), file: &IndexedFile) -> Value {
    json!({
        (name): said,
        "path": file.path.to_string_lossy(),
        "id": file.id,
        "txId": file.tx_id,
        "noContent": file.no_content,
    })
}
