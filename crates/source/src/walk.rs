//! Walks folders for files to index: respects `.gitignore`, leaves out hidden files, follows no
//! links, opens no file.

use std::fs::FileType;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use ignore::{DirEntry, WalkBuilder};

use super::file::in_words;
use super::ignored::is_unfit;
use base::error::{Error, Result};
use files::looks;
use store::slashed;

/// The problem reported for FIFOs, sockets and devices.
pub(super) const NOT_A_FILE: &str = "it is not a regular file";

/// Files with rules about what to leave out, which the walker reads whole.
const RULES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];
/// The problem reported for one that cannot be read so: nothing of its folder is met.
const UNFIT_RULES: &str = "it is too large for a file of rules, or not a regular file";

/// Options of a walk.
#[derive(Debug, Clone)]
pub(super) struct WalkOptions {
    /// Whether to include hidden and ignored files. `.git` is never included.
    pub all: bool,
    /// The store's file. It is skipped silently, along with all files whose names continue its name
    /// with `-` or `.`.
    pub store: PathBuf,
}

/// A path and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkProblem {
    /// The path.
    pub path: PathBuf,
    /// The problem in words.
    pub problem: String,
}

/// What a walk meets.
#[derive(Debug)]
pub(super) enum Met {
    /// A regular file; its path is canonical.
    File(PathBuf),
    /// A link, FIFO, socket or device.
    Skipped(WalkProblem),
    /// Something that cannot be read.
    Failed(WalkProblem),
}

/// Walks a canonical path in the order of names and calls `take` with everything it meets.
///
/// Respects `.gitignore`, `.ignore` and git's own ignore lists, also those of folders above, inside
/// a repository or not.
pub(super) fn walk(
    root: &Path,
    options: &WalkOptions,
    mut take: impl FnMut(Met) -> Result<()>,
) -> Result<()> {
    let WalkOptions { all, store } = options.clone();
    let unfit = |path| Met::Failed(WalkProblem { path, problem: UNFIT_RULES.to_owned() });
    let of_root = root.ancestors().filter(|_| !all && root.is_dir()).find_map(unfit_rules);
    if let Some(file) = of_root {
        return take(unfit(file));
    }
    let (refusal, refused) = mpsc::channel();
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(!all)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(move |entry| {
            let is_git = entry.depth() > 0 && entry.file_name() == ".git";
            let is_folder = !all && entry.file_type().is_some_and(|kind| kind.is_dir());
            let unfit = is_folder.then(|| unfit_rules(entry.path())).flatten();
            !is_git
                && !is_of_store(entry.path(), &store)
                && unfit.map(|file| refusal.send(file)).is_none()
        });
    for entry in builder.build() {
        match entry {
            Ok(entry) => {
                if let Some(met) = met(&entry) {
                    take(met)?;
                }
            }
            Err(error) => {
                let path = path_of(&error).unwrap_or(root).to_owned();
                take(Met::Failed(WalkProblem { path, problem: problem_of(&error) }))?;
            }
        }
    }
    refused.try_iter().try_for_each(|file| take(unfit(file)))
}

/// The file of rules in a folder that must not be read.
fn unfit_rules(folder: &Path) -> Option<PathBuf> {
    let mut files = RULES.iter().map(|name| folder.join(name));
    files.find(|file| looks::metadata(file).is_ok_and(|found| is_unfit(&found)))
}

/// Paths of the files under a folder, relative to it and with `/`, in the order of names, without
/// hidden and ignored files. `None` if there are more than `max`, or a disk does not answer.
pub fn files_under(root: &Path, max: usize) -> Option<Vec<String>> {
    let root = root.to_owned();
    looks::together(move || {
        let options = WalkOptions { all: false, store: PathBuf::new() };
        let mut files = Vec::new();
        let walked = walk(&root, &options, |met| {
            if let Met::File(path) = met
                && let Some(within) = path.strip_prefix(&root).ok().and_then(Path::to_str)
            {
                files.push(slashed(within));
            }
            if files.len() > max { Err(Error::internal("too many files")) } else { Ok(()) }
        });
        walked.ok().map(|()| files)
    })?
}

fn is_of_store(path: &Path, store: &Path) -> bool {
    let (Some(path), Some(store)) = (path.to_str(), store.to_str()) else { return false };
    path.strip_prefix(store).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
}

fn met(entry: &DirEntry) -> Option<Met> {
    let path = entry.path().to_owned();
    let skipped =
        |path, problem: &str| Met::Skipped(WalkProblem { path, problem: problem.to_owned() });
    match entry.file_type() {
        Some(kind) if kind.is_dir() => None,
        Some(kind) if kind.is_file() => Some(Met::File(path)),
        Some(kind) if FileType::is_symlink(&kind) => Some(skipped(path, "it is a link")),
        _ => Some(skipped(path, NOT_A_FILE)),
    }
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        _ => None,
    }
}

fn problem_of(error: &ignore::Error) -> String {
    let Some(mut error) = error.io_error() else { return error.to_string() };
    // The walker puts its own words and the path around the system's message.
    while let Some(inner) = error.get_ref().and_then(|inner| inner.source()?.downcast_ref()) {
        error = inner;
    }
    in_words(error)
}
