//! Files of the project that an entry cites and that do not exist: most are typing errors, and such an
//! entry can never become stale. Must not pin a file, or look at what one says.

use files::looks;
use std::path::Path;

use super::citations::{Cite, names_file};
use super::finding::{FindingCode, MemoryFinding};
use super::page::Page;
use super::pins::{MAX_LISTED, ends_so};
use super::scope::Scope;
use base::object::quote;

/// How hard to look for a cited file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Search {
    /// By its path alone, and only where the folder that it begins with is there: costs no more
    /// than two looks.
    Path,
    /// Among all files of the project too, by the end of their paths.
    Project,
}

/// Findings about the files that pages of a project cite and that do not exist.
///
/// `known`: paths that were pinned, so that they were there once.
pub(super) fn missing<'a>(
    project: &Path,
    pages: impl Iterator<Item = &'a Page>,
    search: Search,
    known: &dyn Fn(&Page, &str) -> bool,
) -> Vec<MemoryFinding> {
    let mut listing: Option<Option<Vec<String>>> = None;
    let list = || source::files_under(&source::canonical_path(project), MAX_LISTED);
    let mut found = Vec::new();
    for page in pages.filter(|page| matches!(page.place.scope, Scope::Project | Scope::Local)) {
        for cite in page.cites.iter().filter(|cite| is_telling(cite)) {
            let path = cite.path.trim_start_matches("./");
            if known(page, path) || is_there(&project.join(path)) {
                continue;
            }
            let is_missing = match search {
                Search::Path => {
                    let first = path.split('/').next().unwrap_or_default();
                    first != path && is_there(&project.join(first))
                }
                Search::Project => {
                    let files = listing.get_or_insert_with(list).as_ref();
                    files.is_some_and(|files| !files.iter().any(|file| ends_so(file, path)))
                }
            };
            if is_missing && !source::is_ignored(project, &project.join(path)) {
                let words = format!("`{}` is no file of the project", quote::name(&cite.path));
                let finding = MemoryFinding::new(FindingCode::NoSuchFile, words);
                found.push(MemoryFinding { line: Some(page.place.line as usize), ..finding });
            }
        }
    }
    found
}

fn is_there(path: &Path) -> bool {
    looks::try_exists(path).unwrap_or(true)
}

/// Whether a citation can hardly mean anything but a file of the project.
fn is_telling(cite: &Cite) -> bool {
    let first = cite.path.split('/').next().unwrap_or_default();
    let is_relative = !cite.path.starts_with(['/', '~', '.', '$', '@'])
        && !cite.path.contains([':', '*', '<', '{', '['])
        // `example.com/page.html`
        && (first == cite.path || !first.contains('.'));
    let says_lines = cite.lines.is_some();
    is_relative
        && !cite.is_link
        && names_file(&cite.path)
        && (says_lines || cite.path.contains('/'))
}
