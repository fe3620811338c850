//! Scopes and their folders: whose memory exists, where it lives, and whether it may be read. Must
//! not read the files' content, or create a folder.

use files::looks;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::LOOK;
use base::error::{Error, Result};
use base::object::Hash;
use config::MemorySettings;
use settings::{Brought, Main, Trust, TrustBook, held_by_git};
use source::canonical_path;

/// Name of a scope's index.
pub const INDEX_FILE: &str = "MEMORY.md";
/// Name of the index of the scope [`Scope::Local`].
pub const LOCAL_INDEX_FILE: &str = "MEMORY.local.md";
/// Digits of the SHA-256 of a conversation's name that form its folder's name.
const CONVERSATION_DIGITS: usize = 16;
/// Folder for stale memory: recalled, never in the system prompt.
pub const ARCHIVE_FOLDER: &str = "archive";

/// Whose memory it is. Ordered as the model reads them, the more specific later.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The user's, in all projects on this machine.
    Global,
    /// The project's, shared through its repository.
    #[default]
    Project,
    /// The user's in this project: [`LOCAL_INDEX_FILE`] in the project's folder, which git ignores.
    Local,
    /// Of one conversation with others, such as a group: the only memory there, in the user's own
    /// folder.
    Conversation,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 4] = [Self::Global, Self::Project, Self::Local, Self::Conversation];
    /// Scopes that have a folder of their own.
    pub const WITH_FOLDER: [Self; 3] = [Self::Global, Self::Project, Self::Conversation];

    /// The name that people use.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The scope with a name.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for any other name.
    pub fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == name);
        found.ok_or_else(|| {
            let names = "`global`, `project`, `local` or `conversation`";
            Error::argument("scope", format!("must be {names}, is `{name}`"))
        })
    }

    /// The scope that owns this scope's folder: the project's folder holds [`Scope::Local`], too.
    #[must_use]
    pub fn of_folder(self) -> Self {
        if self == Self::Local { Self::Project } else { self }
    }

    /// Name of its index.
    pub fn index_file(self) -> &'static str {
        match self {
            Self::Global | Self::Project | Self::Conversation => INDEX_FILE,
            Self::Local => LOCAL_INDEX_FILE,
        }
    }
}

/// Whether a path below `.pi` is that of [`LOCAL_INDEX_FILE`].
fn is_local(file: &str) -> bool {
    file.strip_prefix("memory/") == Some(LOCAL_INDEX_FILE)
}

/// Records that this person's session wrote those files of a project's that `is_written` takes.
fn note_in(book: &TrustBook, real: &Path, is_written: impl Fn(&str) -> bool) {
    let brought = Brought::of(real);
    let written = brought.files().filter(|(file, _)| is_written(file));
    let written = written.filter_map(|(file, hash)| Some((file.to_owned(), hash?.clone())));
    book.note_written(real, &written.collect::<Vec<_>>());
}

/// Where memory lives for one user in one project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    global: Option<PathBuf>,
    /// The folder that was opened.
    opened: Option<PathBuf>,
    /// The memory folder of the project, once it was found: see [`settings::project_of`].
    project: Arc<OnceLock<Option<PathBuf>>>,
    /// The memory folder that linked worktrees share, where the project is in one.
    main: Arc<OnceLock<Option<PathBuf>>>,
    is_trusted: bool,
    /// Whether the person's own answer decides if the project is trusted.
    is_by_answer: bool,
    /// The trust answers in the user's own folder; `None` if there is no such folder.
    book: Option<TrustBook>,
    /// The project's real path, once it was resolved.
    real: Arc<OnceLock<PathBuf>>,
    /// The folder of a conversation with others, which has no other memory.
    conversation: Option<PathBuf>,
    /// Its name.
    named: Option<String>,
}

impl Folders {
    /// The folders `memory/` of the harness's own folder and `.pi/memory/` of the project. Neither
    /// has to exist.
    ///
    /// `project`: the folder that is opened. In a folder of a repository, the memory above it in the
    /// same repository is the project's, see [`settings::project_of`].
    /// `is_trusted`: whether the user trusts the project; otherwise its memory is not read,
    /// mentioned or created.
    pub fn new(agent_dir: Option<&Path>, project: Option<&Path>, is_trusted: bool) -> Self {
        Self {
            global: agent_dir.map(|folder| folder.join("memory")),
            opened: project.map(Path::to_owned),
            is_trusted,
            book: TrustBook::of(agent_dir).ok(),
            ..Self::default()
        }
    }

    /// The settings in force, and an `INVALID_SETTINGS` error for each file with a wrong value.
    pub(crate) fn settings(&self) -> (MemorySettings, Vec<Error>) {
        settings::load_memory(self.folder(Scope::Global), self.folder(Scope::Project))
    }

    /// The same folders, where the project counts once the person has said that they trust it, see
    /// [`TrustBook`].
    #[must_use]
    pub fn by_answer(self) -> Self {
        Self { is_trusted: false, is_by_answer: true, ..self }
    }

    /// Finds out whether the project counts now. Returns its standing, and whether that is new;
    /// `None` if no answer decides.
    ///
    /// # Errors
    /// As [`TrustBook::standing`]; the project then does not count.
    pub(super) fn ask(&mut self) -> Result<Option<(Trust, bool)>> {
        if !self.is_by_answer {
            return Ok(None);
        }
        let standing = self.standing();
        let counts = standing.as_ref().is_ok_and(|standing| standing.counts());
        let is_new = std::mem::replace(&mut self.is_trusted, counts) != counts;
        standing.map(|standing| Some((standing, is_new)))
    }

    /// The project's memory folder. Looks for it once.
    fn project(&self) -> Option<&Path> {
        let find =
            || Some(settings::project_of(self.opened.as_deref()?).join(".pi").join("memory"));
        self.project.get_or_init(find).as_deref()
    }

    /// The memory folder that holds [`LOCAL_INDEX_FILE`]: a linked worktree comes and goes, so it is
    /// that of the main checkout, or in the git folder of a repository that has none.
    fn local(&self) -> Option<&Path> {
        let find = || {
            let _bounded = looks::bounded(LOOK);
            let main = match settings::main_of(self.project_folder()?)? {
                Main::Checkout(main) => main,
                // No clone brings what is in there.
                Main::GitFolder(git) => return Some(git.join(".pi").join("memory")),
            };
            let project = settings::project_of(&main);
            let folder = project.join(".pi").join("memory");
            // What git has there came with a clone, about which nobody asks in this worktree.
            let counts = held_by_git(&folder.join(LOCAL_INDEX_FILE)) == Some(false)
                || self.standing_of(&project).is_ok_and(Trust::counts);
            counts.then_some(folder)
        };
        self.main.get_or_init(find).as_deref().or_else(|| self.project())
    }

    /// Where [`LOCAL_INDEX_FILE`] is, if it is not in the project's memory folder.
    pub(super) fn local_elsewhere(&self) -> Option<PathBuf> {
        let local = self.folder(Scope::Local).filter(|local| self.project() != Some(*local));
        local.map(|folder| folder.join(LOCAL_INDEX_FILE))
    }

    /// The folder that has the project's memory.
    pub(super) fn project_folder(&self) -> Option<&Path> {
        self.project()?.parent()?.parent()
    }

    /// A path in the project as whoever works in the opened folder names it.
    pub(super) fn shown_in_project(&self, path: &Path) -> Option<String> {
        let (opened, project) = (self.opened.as_deref()?, self.project_folder()?);
        if let Ok(inside) = path.strip_prefix(opened) {
            return Some(inside.display().to_string());
        }
        let above = opened.strip_prefix(project).ok()?.components().count();
        Some("../".repeat(above) + &path.strip_prefix(project).ok()?.display().to_string())
    }

    /// The project's memory folder as whoever works in the opened folder names it.
    pub(super) fn shown_project(&self) -> Option<String> {
        self.shown_in_project(self.project()?)
    }

    /// What the person said of the project.
    pub(super) fn standing(&self) -> Result<Trust> {
        self.real_project().map_or(Ok(Trust::Unknown), |real| self.standing_of(real))
    }

    /// What the person said of a project, by its real path.
    fn standing_of(&self, real: &Path) -> Result<Trust> {
        let asked = self.book.as_ref().map(|book| book.standing(real, || Brought::of(real)));
        asked.unwrap_or(Ok(Trust::Unknown))
    }

    /// The project's real path; `None` if there is none, or its disk does not answer.
    pub(super) fn real_project(&self) -> Option<&Path> {
        if self.real.get().is_none() {
            let project = self.project_folder()?;
            let real = looks::canonicalize(project).ok()?;
            drop(self.real.set(real));
        }
        self.real.get().map(PathBuf::as_path)
    }

    /// The folder among the user's own in which the program keeps a project's files.
    pub(super) fn kept(&self) -> Option<PathBuf> {
        Some(self.book.as_ref()?.kept_folder(self.real_project()?))
    }

    /// The files below `.pi` that are not as this person's sessions wrote them. A session that writes
    /// into one makes none of what stands there its own: ask before.
    pub(super) fn foreign(&self) -> BTreeSet<String> {
        let (Some(book), Some(real)) = (&self.book, self.real_project()) else {
            return BTreeSet::new();
        };
        book.foreign(real, &Brought::of(real))
    }

    /// Records that this person's session wrote files of the project's memory, and their current
    /// content.
    ///
    /// `files`: paths in the memory folder, with `/`. `foreign`: see [`Self::foreign`], of before.
    pub(super) fn note_written<'a>(
        &self,
        files: impl Iterator<Item = &'a str>,
        foreign: &BTreeSet<String>,
    ) {
        let (Some(book), Some(real)) = (&self.book, self.real_project()) else { return };
        let files: Vec<String> = files.map(|file| format!("memory/{file}")).collect();
        note_in(book, real, |file| files.iter().any(|one| one == file) && !foreign.contains(file));
        // What a linked worktree keeps in the main checkout is the person's there, too.
        let main = self.local_elsewhere().filter(|_| files.iter().any(|file| is_local(file)));
        let main = main.and_then(|file| looks::canonicalize(file.ancestors().nth(3)?).ok());
        if let Some(main) = main {
            note_in(book, &main, is_local);
        }
    }

    /// Whether `MEMORY.local.md`, whose bytes have this hash, belongs to this person and not to the
    /// repository: git does not have it, or one of their sessions wrote it.
    pub(super) fn is_own_local(&self, hash: &Hash) -> bool {
        let folder = self.local().and_then(|folder| looks::canonicalize(folder).ok());
        let Some(real) = folder.as_deref().and_then(|folder| folder.parent()?.parent()) else {
            return false;
        };
        if matches!(self.project_folder().and_then(settings::main_of), Some(Main::GitFolder(_))) {
            return true;
        }
        let wrote = || {
            let file = format!("memory/{LOCAL_INDEX_FILE}");
            self.book.as_ref().is_some_and(|book| book.wrote(real, &file, hash))
        };
        let path = real.join(".pi/memory").join(LOCAL_INDEX_FILE);
        held_by_git(&path) == Some(false) || wrote()
    }

    /// What is checked out in the project's repository; empty where there is none.
    pub(super) fn checked_out(&self) -> String {
        self.real_project().and_then(settings::checked_out).unwrap_or_default()
    }

    /// Whether a file of a scope was written by this person, as far as git tells: outside a
    /// repository every file was.
    pub(super) fn is_written_here(&self, scope: Scope, file: &str) -> bool {
        let project = self.real_project().filter(|_| scope == Scope::Project);
        let written =
            |project: &Path| settings::is_written_here(&project.join(".pi/memory").join(file));
        project.and_then(written).unwrap_or(true)
    }

    /// The folder of one conversation with others, such as a group, which is its entire memory:
    /// nothing from the user's own, nor from the project's. It need not exist.
    ///
    /// `name`: by which the host tells conversations apart.
    pub fn of_conversation(agent_dir: &Path, name: &str) -> Self {
        let hash = Hash::of(name);
        let folder = &hash.as_str()[..CONVERSATION_DIGITS];
        Self {
            conversation: Some(conversations(agent_dir).join(folder)),
            named: Some(name.to_owned()),
            global: None,
            ..Self::new(Some(agent_dir), None, false)
        }
    }

    /// The folder of a scope; `None` if there is none, or it may not be read.
    pub fn folder(&self, scope: Scope) -> Option<&Path> {
        if self.is_denied(scope) { None } else { self.place(scope) }
    }

    /// The folder of a scope, whether or not it may be read; `None` if there is none.
    pub(super) fn place(&self, scope: Scope) -> Option<&Path> {
        match scope {
            Scope::Global => self.global.as_deref(),
            Scope::Project => self.project(),
            Scope::Local => self.local(),
            Scope::Conversation => self.conversation.as_deref(),
        }
    }

    /// The name of the conversation that this memory belongs to.
    pub fn conversation(&self) -> Option<&str> {
        self.named.as_deref()
    }

    /// The folder for conversations' memory, beside this user's global memory.
    pub fn conversations(&self) -> Option<PathBuf> {
        self.global.as_deref()?.parent().map(conversations)
    }

    /// The same folders with links followed, for canonical paths.
    #[must_use]
    pub fn canonical(&self) -> Self {
        let canonical = |folder: &PathBuf| canonical_path(folder);
        Self {
            global: self.global.as_ref().map(canonical),
            project: Arc::new(OnceLock::from(self.project().map(canonical_path))),
            main: Arc::new(OnceLock::from(self.local().map(canonical_path))),
            conversation: self.conversation.as_ref().map(canonical),
            ..self.clone()
        }
    }

    /// Whether the model is told where the project's memory is. Does not depend on whether the
    /// person has answered: what a clone brings changes no request before they did.
    pub fn names_project(&self) -> bool {
        self.folder(Scope::Project).is_some() || self.is_asked_about()
    }

    /// Whether the project's memory does not count because of the person's answer, or for lack of
    /// one.
    fn is_asked_about(&self) -> bool {
        self.is_by_answer && self.is_denied(Scope::Project)
    }

    /// Whether a path is in a project's memory that does not count because of the person's answer,
    /// or for lack of one.
    pub(super) fn is_in_refused(&self, path: &Path) -> bool {
        let project = self.project().filter(|_| self.is_asked_about());
        project.is_some_and(|folder| path.starts_with(folder))
    }

    /// Whether a scope has a folder that may not be read.
    pub fn is_denied(&self, scope: Scope) -> bool {
        matches!(scope, Scope::Project | Scope::Local) && self.opened.is_some() && !self.is_trusted
    }

    /// The scopes that may be read.
    pub fn scopes(&self) -> impl Iterator<Item = (Scope, &Path)> {
        Scope::ALL.into_iter().filter_map(|scope| Some((scope, self.folder(scope)?)))
    }

    /// The scope of a file by its absolute path, and its path in the scope's folder with `/`.
    /// `None` outside the readable folders.
    pub fn find(&self, path: &Path) -> Option<(Scope, String)> {
        let local = self.folder(Scope::Local).map(|folder| folder.join(LOCAL_INDEX_FILE));
        if local.is_some_and(|local| local == path) {
            return Some((Scope::Local, LOCAL_INDEX_FILE.to_owned()));
        }
        Scope::WITH_FOLDER.into_iter().find_map(|scope| {
            let inside = path.strip_prefix(self.folder(scope)?).ok()?;
            let names: Option<Vec<&str>> =
                inside.components().map(|part| part.as_os_str().to_str()).collect();
            let file = names.filter(|names| !names.is_empty())?.join("/");
            let is_local = scope == Scope::Project && file == LOCAL_INDEX_FILE;
            let scope = if is_local { Scope::Local } else { scope };
            self.folder(scope).map(|_| (scope, file))
        })
    }
}

/// The folder for conversations' memory, with one subfolder each.
fn conversations(agent_dir: &Path) -> PathBuf {
    agent_dir.join("palimpsest").join("memory").join("conversations")
}

/// A path as the model reads it: `~` for the home folder.
pub(super) fn shown_path(path: &Path, home: Option<&Path>) -> String {
    let shown = match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(inside) => format!("~/{}", inside.display()),
        None => path.display().to_string(),
    };
    shown.replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(is_trusted: bool) -> Folders {
        Folders::new(Some(Path::new("/a")), Some(Path::new("/p")), is_trusted)
    }

    #[test]
    fn an_untrusted_project_has_no_folder() {
        let scopes =
            |folders: &Folders| folders.scopes().map(|(scope, _)| scope).collect::<Vec<_>>();
        assert_eq!(scopes(&folders(true)), [Scope::Global, Scope::Project, Scope::Local]);
        assert_eq!(scopes(&folders(false)), [Scope::Global]);
        assert!(folders(false).is_denied(Scope::Local) && !folders(true).is_denied(Scope::Local));
        assert_eq!(folders(false).find(Path::new("/p/.pi/memory/MEMORY.md")), None);
    }

    #[test]
    fn a_shared_conversation_only_has_its_own_folder() {
        let group = Folders::of_conversation(Path::new("/a"), "agent:main:telegram:group:-1");
        let scopes: Vec<Scope> = group.scopes().map(|(scope, _)| scope).collect();
        assert_eq!(scopes, [Scope::Conversation]);
        let folder = group.folder(Scope::Conversation).unwrap();
        assert!(folder.starts_with("/a/palimpsest/memory/conversations"), "{folder:?}");
        let other = Folders::of_conversation(Path::new("/a"), "agent:main:telegram:group:-2");
        assert_ne!(other.folder(Scope::Conversation), Some(folder));
        let index = folder.join("MEMORY.md");
        assert_eq!(group.find(&index), Some((Scope::Conversation, "MEMORY.md".to_owned())));
        let others = other.folder(Scope::Conversation).unwrap().join("MEMORY.md");
        for path in
            ["/a/memory/MEMORY.md", "/p/.pi/memory/MEMORY.local.md", others.to_str().unwrap()]
        {
            assert_eq!(group.find(Path::new(path)), None, "{path}");
        }
        assert!(!group.is_denied(Scope::Local), "it is not that the project is not trusted");
    }

    #[test]
    fn a_path_has_the_scope_of_its_folder() {
        let found = |path: &str| folders(true).find(Path::new(path));
        let some = |scope, file: &str| Some((scope, file.to_owned()));
        assert_eq!(found("/a/memory/MEMORY.md"), some(Scope::Global, "MEMORY.md"));
        assert_eq!(found("/p/.pi/memory/archive/a.md"), some(Scope::Project, "archive/a.md"));
        assert_eq!(found("/p/.pi/memory/MEMORY.local.md"), some(Scope::Local, "MEMORY.local.md"));
        assert_eq!(found("/p/.pi/memory"), None);
        assert_eq!(found("/p/.pi/memory-of-others/MEMORY.md"), None);
    }

    #[test]
    fn scopes_have_names() {
        for scope in Scope::ALL {
            assert_eq!(Scope::named(scope.as_str()).unwrap(), scope);
        }
        assert_eq!(Scope::named("Global").unwrap_err().code(), "INVALID_ARGUMENT");
    }
}
