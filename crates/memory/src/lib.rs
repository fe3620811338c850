//! Memory that survives sessions: Markdown that people own, in one folder for the user and one per
//! project. It is split into pages, and a session's system prompt holds the pages that are worth
//! their tokens. Must not know a host or its messages, or need a store. Read [`Memory`] first, then
//! `scope` and `load`: whose memory it is and how it is read.

mod asked;
mod at_hand;
pub mod block;
pub mod capture;
pub mod checks;
pub mod citations;
mod claim;
mod compared;
mod conversations;
pub mod facts;
pub mod faults;
pub mod fidelity;
pub mod finding;
pub mod flush;
pub mod identity;
pub mod import;
pub mod inject;
pub mod journal;
pub mod load;
pub mod overview;
pub mod page;
pub mod parse;
pub mod prompt;
pub mod recall;
pub mod residency;
pub mod scope;
pub mod sidecar;
pub mod stale;
pub mod table;
pub mod trace;
pub mod warning;
pub mod worth;

mod explaining;
mod guard;
mod history;
mod keeping;
mod kind;
mod missing;
mod note;
mod pins;
mod takeover;
mod watching;
mod writes;

use files::looks;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

pub use self::citations::Cite;
pub use self::compared::CitedReport;
pub use self::conversations::Conversation;
pub use self::facts::{FACTS_FILE, Fact};
pub use self::faults::{MemoryFault, Resident};
pub use self::fidelity::Fidelity;
pub use self::identity::KnownPage;
pub use self::inject::{Injection, section_tokens};
pub use self::keeping::{StalePage, StaleReport, StoreAccess};
pub use self::load::{Loaded, MemoryFile};
pub use self::overview::{
    FileOverview, Overview, PageOverview, ScopeOverview, SectionOverview, TableState,
};
pub use self::page::{Page, PageId, PageKind, PagePlace};
pub use self::pins::{CitationPin, CitedChange, PinnedLines};
pub use self::recall::{
    RecallAnswer, RecallHit, RecallOptions, RecallPlace, RecallProblem, RecallReason,
};
pub use self::scope::{Folders, Scope};
pub use self::stale::{CitedFile, Doubt, Staleness};
pub use self::trace::{Trace, Traced};
pub use self::warning::Warning;
pub use self::watching::{FaultCount, Recalled, ToolCall};
pub use self::writes::{CaptureModel, Flush, FolderFlush, Remembered, Staging, Waiting};

use self::guard::Guarded;
use self::inject::Injector;
use self::keeping::Keeper;
use self::load::Loader;
use self::prompt::InForce;
use self::recall::Recall;
use self::watching::Watcher;
use base::clock::system_time;
use base::error::{Error, Result};
use base::object::Timestamp;
use config::MemorySettings;
use settings::Trust;

/// How long one look at a memory file may take.
const LOOK: Duration = Duration::from_millis(500);

/// One user's memory in one project, as a host uses it while a session is open.
#[derive(Debug)]
pub struct Memory {
    folders: Folders,
    /// The user's home folder.
    home: Option<PathBuf>,
    loader: Loader,
    keeper: Keeper,
    watcher: Watcher,
    injector: Injector,
    in_force: InForce,
    checked: writes::Checked,
    /// Files of the project's memory that this session's tool calls are writing: their content is
    /// this person's.
    writing: BTreeSet<String>,
    /// What was not this person's before that, see [`Folders::foreign`].
    foreign: BTreeSet<String>,
    /// Texts of the memory files that this session's tool calls are writing, from before.
    before: HashMap<PathBuf, String>,
    staged: writes::Staged,
    clock: fn() -> Timestamp,
    recall: Recall,
}

/// A snapshot of memory.
#[derive(Debug)]
pub struct Look {
    /// Files with their pages, which have stable IDs.
    pub files: Vec<MemoryFile>,
    /// The settings in force.
    pub settings: MemorySettings,
    /// Warnings for the person.
    pub warnings: Vec<Warning>,
    /// Problems in the settings: `INVALID_SETTINGS` of each file.
    pub wrong_settings: Vec<Error>,
    /// The pages whose cited files changed.
    pub stale: BTreeMap<PageId, Staleness>,
}

impl Look {
    /// Pages of the indexes and of the files they link to, in the order in which the model reads
    /// them, without those that it may not get.
    pub fn pages(&self) -> impl Iterator<Item = &Page> {
        let files = self.files.iter().filter(|file| file.is_linked && !file.is_archived());
        files.flat_map(MemoryFile::open_pages)
    }
}

impl Memory {
    /// Memory in these folders. Reads and creates nothing yet.
    pub fn new(folders: Folders) -> Self {
        let home = std::env::home_dir();
        Self {
            folders,
            loader: Loader::default(),
            keeper: Keeper::default(),
            watcher: Watcher::default(),
            injector: Injector::new(home.clone()),
            in_force: InForce::default(),
            recall: Recall::default(),
            home,
            checked: HashMap::new(),
            writing: BTreeSet::new(),
            foreign: BTreeSet::new(),
            before: HashMap::new(),
            staged: writes::Staged::default(),
            clock: system_time,
        }
    }

    /// The same memory with another clock.
    #[must_use]
    pub fn with_clock(self, clock: fn() -> Timestamp) -> Self {
        Self { clock, ..self }
    }

    /// The same memory with a store, in which its files are objects like any other.
    #[must_use]
    pub fn with_store(mut self, access: StoreAccess) -> Self {
        self.keeper.access = Some(access);
        self
    }

    /// The current time by memory's clock.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Finds out whether the project's memory counts now, if that depends on the person's answer.
    /// Returns a warning about it for the person.
    pub(crate) fn admit(&mut self) -> Option<Warning> {
        if !self.writing.is_empty() && self.folders.folder(Scope::Project).is_some() {
            let writing = self.writing.iter().map(String::as_str);
            self.folders.note_written(writing, &self.foreign);
        }
        let asked = self.folders.ask();
        let is_new = !matches!(asked, Ok(None | Some((_, false))));
        if is_new {
            // Nothing cached may outlive the answer: a project that no longer counts would still be
            // shown, and one that counts now would be missing.
            self.loader = Loader::default();
            self.keeper = std::mem::take(&mut self.keeper).anew();
            self.checked = HashMap::new();
            self.recall = Recall::default();
        }
        if self.folders.is_denied(Scope::Project) {
            return not_trusted(&self.folders, asked);
        }
        takeover::take_over(&self.folders, self.keeper.access.as_ref())
    }

    /// Where memory lives.
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    /// Whether a tool call writes a memory file in a readable scope, however it spells the path and
    /// whatever links lead there.
    pub fn is_written_by(&self, tool: &str, args: &Value, cwd: &Path) -> bool {
        let _bounded = looks::bounded(LOOK);
        Guarded::new(&self.folders, cwd, tool, args).writes_own()
    }

    /// Whether a tool call writes at or below one of these places, but no memory file in a readable
    /// scope, however it spells the path and whatever links lead there.
    pub fn is_written_beside(
        &self,
        tool: &str,
        args: &Value,
        cwd: &Path,
        places: &[PathBuf],
    ) -> bool {
        let _bounded = looks::bounded(LOOK);
        Guarded::new(&self.folders, cwd, tool, args).writes_beside(places)
    }

    /// Reads the current content of the folders. A disk that does not answer gives a warning.
    pub fn look(&mut self) -> Look {
        let _bounded = looks::bounded(LOOK);
        let told = self.admit();
        let (settings, wrong_settings) = self.folders.settings();
        let Loaded { mut files, mut warnings } = self.loader.load(&self.folders);
        warnings.extend(told);
        let now = self.now();
        let stale = self.keeper.keep(&self.folders, &mut files, &mut warnings, now);
        self.watcher.meet(&files, settings.trace_enabled);
        Look { files, settings, warnings, wrong_settings, stale }
    }
}

/// The warning about a project whose memory does not count.
fn not_trusted(folders: &Folders, asked: Result<Option<(Trust, bool)>>) -> Option<Warning> {
    let project = folders.real_project()?;
    let problem = match asked {
        Err(error) => format!("is not read, since it cannot be told whether you trust it: {error}"),
        Ok(Some((Trust::Changed, _))) => {
            "is not read: it belongs to another user, or to another repository, than what you trusted at this path".to_owned()
        }
        Ok(Some((Trust::Unknown, _))) => {
            "is not read: you have not said yet whether you trust this project".to_owned()
        }
        Ok(_) => return None,
    };
    Some(Warning::new("NOT_TRUSTED", &project.join(".pi/memory"), problem))
}
