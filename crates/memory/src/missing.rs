//! Files of the project that an entry cites and that do not exist: most are typing errors, and such an
//! entry can never become stale. Must not pin a file, or look at what one says.

use files::looks;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use super::citations::{Cite, names_file};
use super::finding::{FindingCode, MemoryFinding};
use super::page::Page;
use super::pins::{Listing, ends_so};
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
    let cites = pages.filter(|page| matches!(page.place.scope, Scope::Project | Scope::Local));
    let cites = cites.flat_map(|page| page.cites.iter().map(move |cite| (page, cite)));
    let cites = cites.filter(|(_, cite)| is_telling(cite));
    let cites = cites.map(|(page, cite)| (page, cite, cite.path.trim_start_matches("./")));
    let open: Vec<(&Page, &Cite, &str)> =
        cites.filter(|(page, _, path)| !known(page, path)).collect();
    let paths: BTreeSet<&str> = open.iter().map(|(_, _, path)| *path).collect();
    let paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
    let at = project.to_owned();
    let absent = looks::each(paths.clone(), &|_| (), move |path| is_absent(&at, path, search));
    let absent = paths.into_iter().zip(absent).filter(|(_, is_absent)| is_absent.unwrap_or(false));
    let mut absent: HashSet<String> = absent.map(|(path, _)| path).collect();
    if search == Search::Project && !absent.is_empty() {
        let listing = Listing::under(project);
        let is_there = |path: &String| listing.named(path).any(|file| ends_so(file, path));
        // Of a project with too many files it cannot be told.
        absent.retain(|path| !listing.files.is_empty() && !is_there(path));
    }
    let found = open.into_iter().filter(|(_, _, path)| absent.contains(*path));
    let found = found.map(|(page, cite, _)| {
        let words = format!("`{}` is not a file of the project", quote::name(&cite.path));
        let finding = MemoryFinding::new(FindingCode::NoSuchFile, words);
        MemoryFinding { line: Some(page.place.line as usize), ..finding }
    });
    found.collect()
}

/// Whether a path of the project is not there and should be.
fn is_absent(project: &Path, path: &str, search: Search) -> bool {
    let is_there = |path: &str| looks::try_exists(&project.join(path)).unwrap_or(true);
    let begins_inside = || {
        let first = path.split('/').next().unwrap_or_default();
        first != path && is_there(first)
    };
    !is_there(path)
        && (search == Search::Project || begins_inside())
        && !source::is_ignored(project, &project.join(path))
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
