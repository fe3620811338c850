//! `Store.index`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use napi::bindgen_prelude::{AsyncTask, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status};
use napi_derive::napi;

use super::argument::Given;
use super::blocking::{Blocking, blocking, to_js};
use super::store::Store;
use crate::source::{self, Exclude, absolute_path};

/// How paths are indexed.
#[napi(object)]
#[derive(Default)]
pub struct IndexOptions {
    /// Folder that relative paths count from, absolute. Default: the process's working folder.
    pub cwd: Option<String>,
    /// Whether hidden and ignored files are taken too; `.git` never is. Default: `false`.
    pub all: Option<bool>,
}

/// A file that was indexed.
#[napi(object, use_nullable = true)]
pub struct IndexedFile {
    /// Canonical path.
    pub path: String,
    /// ID of its object.
    pub id: String,
    /// `created`: the store had no version of it; `updated`: it had another one; `unchanged`: it had this one, nothing was
    /// written; `deleted`: the file is gone, its new version has no content.
    #[napi(ts_type = "\"created\" | \"updated\" | \"unchanged\" | \"deleted\"")]
    pub outcome: String,
    /// Transaction of its latest version.
    pub tx_id: i64,
    /// Why it has no content; null where it has.
    #[napi(ts_type = "\"binary\" | \"too_large\" | \"excluded\" | \"deleted\" | null")]
    pub no_content: Option<String>,
}

/// A path that was not indexed.
#[napi(object)]
pub struct PathProblem {
    /// The path; where it is not UTF-8, with replacement characters.
    pub path: String,
    /// What is the matter, in words.
    pub problem: String,
}

/// What became of the paths.
#[napi(object)]
pub struct IndexReport {
    /// The files, in the order in which they were met; deleted ones last.
    pub files: Vec<IndexedFile>,
    /// What could not be read, is missing, or has a name that is not UTF-8.
    pub failed: Vec<PathProblem>,
    /// Links, which are not followed; FIFOs, sockets and devices, which are not opened; what was forgotten.
    pub skipped: Vec<PathProblem>,
}

/// The listener hears of every so many files.
const PROGRESS_EVERY: usize = 50;

type Listener = ThreadsafeFunction<u32, (), u32, Status, false, true>;

#[napi]
impl Store {
    /// Stores the files at and under `paths`: text as content, larger or binary files as metadata. Unchanged ones are not
    /// written; a file that the store knows under a path and that is gone gets a version without content. One transaction
    /// holds at most 200 files.
    ///
    /// Files that `.gitignore` names and hidden ones are left out, unless given themselves. The settings `maxTextBytes`,
    /// `filesystemId` and `exclude` given to `openStore` count. `onProgress` hears how many files are done, after every 50.
    ///
    /// Rejects with `INVALID_ARGUMENT` and with what the store reports; transactions before hold.
    #[napi(
        ts_args_type = "paths: string[], options?: IndexOptions, onProgress?: (files: number) => void",
        ts_return_type = "Promise<IndexReport>",
        catch_unwind
    )]
    pub fn index(
        &self,
        env: Env,
        paths: Given<Vec<String>>,
        options: Given<Option<IndexOptions>>,
        on_progress: Given<Option<Function<'_, u32, ()>>>,
    ) -> napi::Result<AsyncTask<Blocking<IndexReport>>> {
        let names = self.names();
        let settings = Arc::clone(&self.settings);
        let listener = match on_progress.named("onProgress") {
            Ok(None) => Ok(None),
            Ok(Some(function)) => {
                function.build_threadsafe_function().weak::<true>().build().map(Some)
            }
            Err(error) => Err(to_js(env, &error)?),
        }?;
        Ok(blocking(move || {
            let options = options.named("options")?.unwrap_or_default();
            let place = names.place(options.cwd)?;
            let paths: Vec<PathBuf> =
                paths.named("paths")?.iter().map(|path| absolute_path(path, &place.cwd)).collect();
            let options = source::IndexOptions {
                files: place.files,
                all: options.all.unwrap_or(false),
                max_text_bytes: settings.max_text_bytes,
                exclude: Exclude::new(&settings.exclude_globs())?,
            };
            let report = source::index_paths(&names.store, &paths, &options, throttled(listener))?;
            Ok(converted(report))
        }))
    }
}

/// Tells the listener, but not for every file.
fn throttled(listener: Option<Listener>) -> impl Fn(usize) {
    move |files| {
        if let Some(listener) = listener.as_ref().filter(|_| files % PROGRESS_EVERY == 0) {
            let files = u32::try_from(files).unwrap_or(u32::MAX);
            listener.call(files, ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

fn converted(report: source::IndexReport) -> IndexReport {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let problems = |problems: Vec<source::Problem>| {
        let problems = problems.into_iter();
        problems
            .map(|found| PathProblem { path: text(&found.path), problem: found.problem })
            .collect()
    };
    let file = |file: source::IndexedFile| IndexedFile {
        path: text(&file.path),
        id: file.id.to_string(),
        outcome: file.outcome.as_str().to_owned(),
        tx_id: file.tx_id.0,
        no_content: file.no_content,
    };
    IndexReport {
        files: report.files.into_iter().map(file).collect(),
        failed: problems(report.failed),
        skipped: problems(report.skipped),
    }
}
