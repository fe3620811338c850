//! Whether the user trusts a project's files: its memory in `.pi/memory` and its settings in
//! `.pi/palimpsest.json`, which come with a clone and reach the model's prompt. The user answers
//! once for each real path; files that their own sessions wrote on this machine need no answer. The
//! host's own opinion of the project does not count.
//!
//! The answers are in `trust.json` in the user's own folder, next to a folder for each project with
//! what the program keeps about it. Must not read what the memory says, nor ask anybody.

mod brought;
mod repository;

use files::looks;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use self::brought::{Brought, FACTS_FILE};
pub use self::repository::{Identity, Main, checked_out, held_by_git, is_written_here, main_of};
use super::own_folder;
use base::error::{Error, Result};
use base::object::{Hash, Timestamp};
use files::private::{self, FolderAccess, Held, HeldFolder};

/// Name of the file with the answers.
const TRUST_FILE: &str = "trust.json";
/// Name of the file, in a project's own folder, that lists what sessions wrote there.
const WRITTEN_FILE: &str = "written.jsonl";
/// Name of the folder with one folder for each project.
const KEPT_FOLDER: &str = "memory";

/// Maximum size of `trust.json` and `written.jsonl` that is read.
const MAX_BYTES: u64 = 4 << 20;
/// Once `written.jsonl` reaches this size, its older half is dropped.
const FULL_BYTES: usize = 256 << 10;
/// Digits of the hash that names a project's own folder.
const KEY_CHARS: usize = 16;

/// Whether the user trusts a project, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The user trusts it.
    Trusted,
    /// It holds only what the user's own sessions wrote on this machine.
    Own,
    /// The user has not been asked yet, and the project holds something else.
    Unknown,
    /// The user trusted what was at this path, but it now belongs to another user or is another
    /// repository.
    Changed,
    /// The user refused.
    Denied,
}

impl Trust {
    /// Whether the project's memory and settings count.
    pub fn counts(self) -> bool {
        matches!(self, Self::Trusted | Self::Own)
    }
}

/// An answer in `trust.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustAnswer {
    /// Whether the user trusts it.
    pub trusted: bool,
    /// When the user answered, in RFC 3339.
    pub at: String,
    /// What was at the path at that time.
    #[serde(flatten)]
    identity: Identity,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Answers {
    projects: BTreeMap<String, TrustAnswer>,
}

/// A file of a project that the user's sessions wrote.
#[derive(Debug, Serialize, Deserialize)]
struct WrittenFile {
    /// Path below `.pi`, with `/`.
    file: String,
    /// SHA-256 of the file's bytes.
    hash: Hash,
}

/// The answers of one user, in their own folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustBook {
    root: PathBuf,
}

impl TrustBook {
    /// The answers in `palimpsest/` of the harness's own folder; without one, in the platform's
    /// data folder. Reads nothing yet.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if there is neither an agent folder nor a home folder.
    pub fn of(agent_dir: Option<&Path>) -> Result<Self> {
        Ok(Self { root: own_folder(agent_dir)? })
    }

    /// The folder for data about a project that must not be in the project itself, where a clone
    /// could bring it.
    ///
    /// `project`: its real path.
    pub fn kept_folder(&self, project: &Path) -> PathBuf {
        let key = Hash::of(project.to_string_lossy().as_bytes());
        self.root.join(KEPT_FOLDER).join(&key.as_str()[..KEY_CHARS])
    }

    /// The standing of a project, by its real path and its present files. `brought` is called only
    /// where no answer decides.
    ///
    /// # Errors
    /// `NOT_PRIVATE` if others could have written the answers, `FILE` if they cannot be read;
    /// nothing is trusted then.
    pub fn standing(&self, project: &Path, brought: impl FnOnce() -> Brought) -> Result<Trust> {
        let answers = self.answers()?;
        let Some(answer) = answers.projects.get(&key(project)) else {
            return Ok(self.without_an_answer(project, &brought()));
        };
        Ok(match (answer.trusted, answer.identity.is_still(project)) {
            (true, true) => Trust::Trusted,
            (false, true) => Trust::Denied,
            (trusted, false) => match self.without_an_answer(project, &brought()) {
                Trust::Unknown if trusted => Trust::Changed,
                standing => standing,
            },
        })
    }

    fn without_an_answer(&self, project: &Path, brought: &Brought) -> Trust {
        let is_own = self.foreign(project, brought).is_empty();
        if is_own { Trust::Own } else { Trust::Unknown }
    }

    /// The files of a project, by their paths below `.pi`, that no session of this user wrote in their
    /// present form.
    pub fn foreign(&self, project: &Path, brought: &Brought) -> BTreeSet<String> {
        let written = if brought.is_empty() { Vec::new() } else { self.written(project) };
        let is_own = |file: &str, hash: Option<&Hash>| {
            written.iter().any(|one| one.file == file && Some(&one.hash) == hash)
        };
        let foreign = brought.files().filter(|(file, hash)| !is_own(file, *hash));
        foreign.map(|(file, _)| file.to_owned()).collect()
    }

    /// Records the user's answer about an opened folder: yes for it and for the project whose memory it
    /// has, no for the one that they were asked about, see [`look_at_opened`]; `None` removes both.
    /// Returns the real path of the folder that it is about.
    ///
    /// # Errors
    /// As [`Self::answer`].
    pub fn answer_opened(
        &self,
        opened: &Path,
        trusted: Option<bool>,
        now: Timestamp,
    ) -> Result<PathBuf> {
        if trusted == Some(false) {
            return self.answer(&look_at_opened(self, opened)?.0, trusted, now);
        }
        let real = self.answer(opened, trusted, now)?;
        let project = project_of(&real);
        if project != real {
            self.answer(&project, trusted, now)?;
        }
        Ok(real)
    }

    /// Records the user's answer for a project; `None` removes it. Returns the project's real path.
    ///
    /// # Errors
    /// `FILE` if there is no such folder, or the answer cannot be written; `NOT_PRIVATE`.
    pub fn answer(&self, project: &Path, trusted: Option<bool>, now: Timestamp) -> Result<PathBuf> {
        let failed = |source| Error::File { act: "find", path: project.to_owned(), source };
        // The answer for a project that is gone can still be removed.
        let real = match looks::canonicalize(project) {
            Err(error) if trusted.is_none() && error.kind() == ErrorKind::NotFound => {
                source::canonical_path(project)
            }
            found => found.map_err(failed)?,
        };
        private::create_folder(&self.root).map_err(|source| self.failed("create", source))?;
        let held = self.held()?.ok_or_else(|| self.failed("open", ErrorKind::NotFound.into()))?;
        let lock =
            held.open_to_append("trust.lock").map_err(|source| self.failed("lock", source))?;
        let lock = lock.into_std();
        lock.lock().map_err(|source| self.failed("lock", source))?;
        let mut answers = self.answers()?;
        match trusted {
            Some(trusted) => {
                let identity = Identity::of(&real);
                let answer = TrustAnswer { trusted, at: now.to_string(), identity };
                answers.projects.insert(key(&real), answer);
            }
            None => drop(answers.projects.remove(&key(&real))),
        }
        let text = serde_json::to_string_pretty(&answers)
            .map_err(|error| Error::internal(format!("the answers: {error}")))?;
        held.write(TRUST_FILE, format!("{text}\n").as_bytes())
            .map_err(|source| self.failed("write", source))?;
        Ok(real)
    }

    /// All answers, by the project's real path.
    ///
    /// # Errors
    /// As [`Self::standing`].
    pub fn all(&self) -> Result<Vec<(PathBuf, TrustAnswer)>> {
        let projects = self.answers()?.projects;
        Ok(projects.into_iter().map(|(path, answer)| (PathBuf::from(path), answer)).collect())
    }

    /// Records that a session of this user wrote files of a project, as they are now.
    ///
    /// `files`: paths below `.pi`, with `/`, and the SHA-256 of the bytes. A failure only leads to
    /// one more question.
    pub fn note_written(&self, project: &Path, files: &[(String, Hash)]) {
        let known = self.written(project);
        let is_new = |(file, hash): &&(String, Hash)| {
            !known.iter().any(|one| one.file == *file && one.hash == *hash)
        };
        let new = files
            .iter()
            .filter(is_new)
            .map(|(file, hash)| WrittenFile { file: file.clone(), hash: hash.clone() });
        let new: Vec<WrittenFile> = new.collect();
        if new.is_empty() {
            return;
        }
        let lines = |written: &[WrittenFile]| -> String {
            written.iter().filter_map(|one| Some(serde_json::to_string(one).ok()? + "\n")).collect()
        };
        let mut text = lines(&known);
        if text.len() >= FULL_BYTES {
            text = lines(&known[known.len() / 2..]);
        }
        text += &lines(&new);
        let folder = self.kept_folder(project);
        let write = || {
            private::create_folder(&folder)?;
            HeldFolder::open(&folder, FolderAccess::Private)?.write(WRITTEN_FILE, text.as_bytes())
        };
        drop(write());
    }

    /// Whether a session of this user wrote a file of a project in its present form.
    pub fn wrote(&self, project: &Path, file: &str, hash: &Hash) -> bool {
        self.written(project).iter().any(|one| one.file == file && one.hash == *hash)
    }

    fn written(&self, project: &Path) -> Vec<WrittenFile> {
        let folder = self.kept_folder(project);
        let read = looks::together(move || {
            HeldFolder::open(&folder, FolderAccess::Private)?.read(WRITTEN_FILE, MAX_BYTES)
        });
        let Some(Ok(Held::Bytes(bytes))) = read else { return Vec::new() };
        let lines = bytes.split(|byte| *byte == b'\n');
        lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    fn answers(&self) -> Result<Answers> {
        let asked = self.clone();
        let read = looks::together(move || asked.read_answers());
        read.unwrap_or_else(|| Err(self.failed("read", looks::no_answer())))
    }

    fn read_answers(&self) -> Result<Answers> {
        let Some(held) = self.held()? else { return Ok(Answers::default()) };
        private::check_file(&self.root.join(TRUST_FILE))?;
        match held.read(TRUST_FILE, MAX_BYTES) {
            Ok(Held::Missing) => Ok(Answers::default()),
            Ok(Held::Bytes(bytes)) => serde_json::from_slice(&bytes).map_err(|error| {
                let problem =
                    format!("it is damaged ({error}): once it is moved away, you are asked again");
                self.failed("read", std::io::Error::other(problem))
            }),
            Ok(Held::TooLarge(_)) => Err(self.failed("read", ErrorKind::FileTooLarge.into())),
            Err(source) => Err(self.failed("read", source)),
        }
    }

    fn held(&self) -> Result<Option<HeldFolder>> {
        private::check_folder(&self.root)?;
        match HeldFolder::open(&self.root, FolderAccess::Private) {
            Ok(held) => Ok(Some(held)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.failed("open", source)),
        }
    }

    fn failed(&self, act: &'static str, source: std::io::Error) -> Error {
        Error::File { act, path: self.root.join(TRUST_FILE), source }
    }
}

/// The project that an opened folder belongs to: the nearest folder with memory (`.pi/memory`), it
/// or one above it in the same repository; else the folder itself.
pub fn project_of(opened: &Path) -> PathBuf {
    let folder = opened.to_owned();
    let found = looks::together(move || {
        let mut within = Vec::new();
        for above in folder.ancestors() {
            within.push(above.to_owned());
            if above.join(".git").exists() {
                return within.into_iter().find(|one| one.join(".pi/memory").is_dir());
            }
        }
        None
    });
    found.flatten().unwrap_or_else(|| opened.to_owned())
}

/// As [`look_at_project`], of an opened folder: where what it brings counts, the project's whose
/// memory it has.
///
/// # Errors
/// As [`look_at_project`].
pub fn look_at_opened(book: &TrustBook, opened: &Path) -> Result<(PathBuf, Trust, Brought)> {
    let found = look_at_project(book, opened)?;
    let project = project_of(&found.0);
    if project == found.0 || !found.1.counts() {
        Ok(found)
    } else {
        look_at_project(book, &project)
    }
}

/// A project's real path, its standing, and the files that it brought.
///
/// # Errors
/// `FILE` if there is no such folder; as [`TrustBook::standing`].
pub fn look_at_project(book: &TrustBook, project: &Path) -> Result<(PathBuf, Trust, Brought)> {
    let found = looks::canonicalize(project);
    let failed = |source| Error::File { act: "find", path: project.to_owned(), source };
    let real = found.map_err(failed)?;
    let brought = Brought::of(&real);
    Ok((real.clone(), book.standing(&real, || brought.clone())?, brought))
}

fn key(project: &Path) -> String {
    project.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
