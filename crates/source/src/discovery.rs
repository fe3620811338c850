//! Finds the files that a tool call names: in listings and search results, in a shell command and
//! in its output.
//!
//! Best effort and cheap. A path counts if the caller finds a regular file there now. Each path is
//! looked up once and the number of look-ups is bounded; no folder is listed, no pattern expanded,
//! no file opened. Source of Pi's formats: `dist/core/tools/{ls,find,grep}.js` of
//! `@earendil-works/pi-coding-agent` 0.87.1.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::commands::{PlacedCommand, commands};
use super::{Location, resolve_path};
use base::harness::{shows_nothing, shows_text_of_files};

mod origin;
mod output;

pub use origin::named_in_output;
pub(super) use output::cut;

/// Number of bytes of an output that are read. Pi shows at most 50 KiB.
const MAX_OUTPUT_BYTES: usize = 256 << 10;
/// Folders in which names from a command's output are tried.
const MAX_FOLDERS: usize = 4;
/// Longest path, in bytes; operating systems have the same limit.
const MAX_PATH_BYTES: usize = 4_096;

/// How a tool call names files.
#[derive(Debug, Clone, Copy)]
pub enum Naming<'a> {
    /// A listing: one path per line, relative to the folder at `path`.
    Listing {
        /// The call's argument, if it has one.
        path: Option<&'a str>,
    },
    /// A search: lines of the file at `path`, or of files in that folder.
    Search {
        /// The call's argument, if it has one.
        path: Option<&'a str>,
    },
    /// A shell command and what it printed.
    Command {
        /// The command line.
        line: &'a str,
    },
}

/// Limits for one call.
#[derive(Debug, Clone, Copy)]
pub struct DiscoveryLimits {
    /// Maximum number of files found.
    pub files: usize,
    /// Maximum number of paths looked up.
    pub look_ups: usize,
}

/// Finds the regular files that a tool call names, in order, without duplicates.
///
/// `cwd`: the folder in which the tool ran. `output`: its output. `look`: returns the location of
/// the regular file at an absolute path, if one is there now.
pub fn discovered_files(
    naming: Naming<'_>,
    cwd: &Path,
    output: &str,
    limits: DiscoveryLimits,
    look: &dyn Fn(&Path) -> Option<Location>,
) -> Vec<Location> {
    let mut search =
        Search { look, limits, known: HashMap::new(), found: Vec::new(), seen: HashSet::new() };
    let output = output::cut(output, MAX_OUTPUT_BYTES);
    // Pi treats an empty path as missing.
    let base = |path: Option<&str>| {
        resolve_path(path.filter(|path| !path.is_empty()).unwrap_or("."), cwd).ok()
    };
    match naming {
        Naming::Listing { path } | Naming::Search { path } => {
            let output = without_notice(output);
            match (base(path), naming) {
                (Some(base), Naming::Listing { .. }) => search.listing(&base, output),
                (Some(base), _) => search.matches(&base, output),
                (None, _) => {}
            }
        }
        Naming::Command { line } => {
            search.command(line, cwd, output);
        }
    }
    search.found
}

/// Removes a final notice such as `[500 entries limit reached. …]`, which follows an empty line.
fn without_notice(output: &str) -> &str {
    match output.rsplit_once("\n\n[") {
        Some((before, notice)) if notice.ends_with(']') => before,
        _ => output,
    }
}

struct Search<'a> {
    look: &'a dyn Fn(&Path) -> Option<Location>,
    limits: DiscoveryLimits,
    /// The paths looked up so far, and whether a file is at each.
    known: HashMap<PathBuf, bool>,
    found: Vec<Location>,
    seen: HashSet<Location>,
}

impl Search<'_> {
    /// Whether a regular file is at a path; if so, adds it to the files found. Always `false` once
    /// a limit is reached.
    fn is_file(&mut self, path: PathBuf) -> bool {
        if let Some(is_file) = self.known.get(&path) {
            return *is_file;
        }
        if self.is_over() || path.as_os_str().len() > MAX_PATH_BYTES {
            return false;
        }
        let file = (self.look)(&path);
        self.known.insert(path, file.is_some());
        let is_file = file.is_some();
        self.found.extend(file.filter(|file| self.seen.insert(file.clone())));
        is_file
    }

    fn is_over(&self) -> bool {
        self.found.len() >= self.limits.files || self.known.len() >= self.limits.look_ups
    }

    fn listing(&mut self, base: &Path, output: &str) {
        for line in output.lines().filter(|line| !line.is_empty() && !line.ends_with('/')) {
            if self.is_over() {
                break;
            }
            // OpenClaw writes names as JSON.
            if !self.is_file(base.join(line))
                && let Ok(name) = serde_json::from_str::<String>(line)
            {
                self.is_file(base.join(name));
            }
        }
    }

    /// Reads `path:12: text` (a match), `path-12- text` (context), `path:12:text` and bare paths. A
    /// path may contain such marks itself, so the shortest one that exists counts.
    fn matches(&mut self, base: &Path, output: &str) {
        // A search in one file shows only the last part of its path, so all that matters is whether
        // it matched.
        let matched = output.lines().any(|line| output::mark_offsets(line).next().is_some());
        if matched && self.is_file(base.to_owned()) {
            return;
        }
        for line in output.lines() {
            if self.is_over() {
                break;
            }
            let line = output::cut(line, MAX_PATH_BYTES);
            let mut offsets = output::mark_offsets(line).take(output::MAX_MARKS);
            if !offsets.any(|offset| self.is_file(base.join(&line[..offset]))) {
                output::suggest(line, &mut |path| {
                    !path.is_empty() && self.is_file(base.join(path))
                });
            }
        }
    }

    fn command(&mut self, line: &str, cwd: &Path, output: &str) {
        let commands = commands(line, cwd);
        for placed in commands.iter().filter(|placed| !placed.command.is_elsewhere) {
            for path in placed.paths() {
                self.is_file(path);
            }
        }
        let all = || commands.iter().map(|placed| &placed.command);
        let mut speaking =
            all().filter(|command| command.is_shown && !shows_nothing(command)).peekable();
        let is_text = speaking.peek().is_some() && speaking.all(shows_text_of_files);
        if is_text || all().any(|command| command.is_elsewhere) {
            return;
        }
        let folders = folders(&commands, cwd);
        let lists = commands.iter().any(is_list);
        let mut heading = None;
        for line in output.lines() {
            if self.is_over() {
                break;
            }
            if line.is_empty() {
                heading = None;
            } else if let Some(folder) = output::folder_heading(line).filter(|_| lists) {
                heading = Some(cwd.join(folder));
            }
            output::suggest(line, &mut |path| {
                !path.is_empty()
                    && heading.iter().chain(&folders).any(|base| self.is_file(base.join(path)))
            });
        }
    }
}

/// Whether a command lists folders by bare names.
fn is_list(placed: &PlacedCommand) -> bool {
    placed.command.program() == "ls"
}

/// Folders that may contain names from the output, likeliest first: those that `ls` was given, then
/// those where commands ran, the last one first.
fn folders(commands: &[PlacedCommand], cwd: &Path) -> Vec<PathBuf> {
    let listed = commands.iter().filter(|placed| is_list(placed)).flat_map(PlacedCommand::paths);
    let ran = commands.iter().rev().filter_map(|placed| placed.folder.clone());
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in listed.chain(ran).chain([cwd.to_owned()]) {
        if folders.len() < MAX_FOLDERS && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

#[cfg(test)]
mod tests;
