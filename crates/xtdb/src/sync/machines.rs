//! Who shares: what this machine says of itself, and what a store remembers of the others, so that
//! what they wrote has a name. Must not decide what is shared.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use super::state::{Said, State, read, write};
use super::{Connected, Sharing, VERSIONS_AT_ONCE};
use crate::server::{Introduced, Machine};
use base::error::{Error, Result};
use base::object::{Timestamp, TxId};
use store::{Store, Version};

/// After so long a machine in use says again that it is there.
const SAY_AGAIN_MS: i64 = 3_600_000;

/// After so long it says that it has taken more.
const SAY_TAKEN_MS: i64 = 60_000;

/// Transactions of the log that are examined to count those of others.
const LOOKED_AT: u64 = 1_000;

/// A machine that shares, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharingMachine {
    /// The ID of its store.
    pub store_id: String,
    /// What it says of itself.
    pub machine: Machine,
    /// When it last wrote to the shared store, to the second.
    pub seen: Timestamp,
    /// Transactions of others that it had not taken when it last said so.
    pub behind: u64,
}

/// The machine with a store, if this store was told of it.
pub fn machine_of(store: &Store, store_id: &str) -> Option<Machine> {
    // A store without notes shares nothing.
    read::<Option<Machine>>(store, &note(store_id)).unwrap_or_default()
}

fn note(store_id: &str) -> String {
    format!("machine {store_id}")
}

impl Machine {
    /// This machine. `author`: the name that was set; default: that of git.
    pub(super) fn this(author: Option<&str>) -> Self {
        let machine = hostname::get().map(|name| name.to_string_lossy().into_owned());
        Self {
            machine: machine.unwrap_or_else(|_| "unknown".to_owned()),
            author: author.map(str::to_owned).or_else(name_in_git),
        }
    }
}

/// The name by which this machine's user signs commits.
fn name_in_git() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["config", "--global", "user.name"]).stdin(Stdio::null()).stderr(Stdio::null());
    let said = String::from_utf8(git.output().ok()?.stdout).ok()?;
    Some(said.trim().to_owned()).filter(|name| !name.is_empty())
}

impl Sharing {
    /// Says who this machine is, and how far, if the others do not know it yet or it is long ago.
    pub(super) fn introduce(&self, shared: &Connected) -> Result<()> {
        let machine = self.machine.get_or_init(|| Machine::this(self.options.author.as_deref()));
        let state = State::read(&self.local, shared.store.id())?;
        let now = self.local.now();
        let took = self.took.load(Ordering::Relaxed);
        let is_known = state.said.is_some_and(|said| {
            let age = now.0.saturating_sub(said.at.0);
            said.machine == *machine && age < if took { SAY_TAKEN_MS } else { SAY_AGAIN_MS }
        });
        if is_known {
            return Ok(());
        }
        match shared.backend.introduce(machine, state.pulled) {
            // Who may only read stays unknown.
            Ok(()) | Err(Error::XtdbRefused { .. }) => {}
            Err(error) => return Err(error),
        }
        self.took.store(false, Ordering::Relaxed);
        let said = Said { machine: machine.clone(), at: now };
        self.advance(shared, false, |state| state.said = Some(said))
    }

    /// Remembers who others are.
    pub(super) fn remember(&self, machines: &[Introduced]) -> Result<()> {
        for Introduced { store_id, machine, .. } in machines {
            if machine_of(&self.local, store_id).as_ref() != Some(machine) {
                write(&self.local, &note(store_id), machine)?;
            }
        }
        Ok(())
    }

    /// Asks who wrote these versions, if that is not known.
    pub(super) fn learn_authors(&self, shared: &Connected, versions: &[Version]) -> Result<()> {
        let is_unknown = |version: &Version| {
            let store_id = &version.origin.store_id;
            store_id != self.local.id() && machine_of(&self.local, store_id).is_none()
        };
        if !versions.iter().any(is_unknown) {
            return Ok(());
        }
        let machines = shared.backend.machines()?;
        self.remember(&machines.into_iter().map(|(machine, _)| machine).collect::<Vec<_>>())
    }

    /// The machines that share, those seen last first.
    ///
    /// # Errors
    /// Those of [`crate::XtdbBackend::connect`].
    pub fn machines(&self) -> Result<Vec<SharingMachine>> {
        let shared = self.connect()?.0;
        let (newest, _) = shared.store.newest()?;
        let said = shared.backend.machines()?;
        let own = self.reader(shared.store.id())?;
        // What others wrote themselves they are taken to have.
        let readers = said.iter().map(|(one, _)| match one.store_id.as_str() {
            id if id == own.0 => own,
            id => (id, one.pulled, TxId(i64::MAX)),
        });
        let readers: Vec<Reader<'_>> = readers.collect();
        let behind = behind(&shared, &readers, newest)?;
        let machine = |((one, seen), behind): (&(Introduced, Timestamp), u64)| SharingMachine {
            store_id: one.store_id.clone(),
            machine: one.machine.clone(),
            seen: *seen,
            behind,
        };
        let mut machines: Vec<_> = said.iter().zip(behind).map(machine).collect();
        machines.sort_by_key(|one| std::cmp::Reverse(one.seen));
        Ok(machines)
    }

    /// This store as a reader of the shared one.
    pub(super) fn reader(&self, shared: &str) -> Result<Reader<'_>> {
        let pulled = State::read(&self.local, shared)?.pulled;
        Ok((self.local.id(), pulled, self.local.newest()?.0))
    }
}

/// A store, the last transaction of the shared one that it took, and its own last one.
pub(super) type Reader<'a> = (&'a str, TxId, TxId);

/// For each store, the number of transactions that it did not take yet: those of others, and its own
/// that it lacks, as one does that was put back from a copy. If there are very many, others that it
/// wrote may be among them.
pub(super) fn behind(shared: &Connected, readers: &[Reader<'_>], newest: TxId) -> Result<Vec<u64>> {
    let all = |pulled: TxId| u64::try_from(newest.0.saturating_sub(pulled.0)).unwrap_or(0);
    let near = readers.iter().map(|(_, pulled, _)| *pulled).filter(|one| all(*one) <= LOOKED_AT);
    let mut others = vec![BTreeSet::new(); readers.len()];
    if let Some(first) = near.min() {
        shared.backend.log(first, VERSIONS_AT_ONCE, &mut |logged| {
            for version in &logged.versions {
                for ((store_id, pulled, last), others) in readers.iter().zip(&mut others) {
                    let origin = &version.origin;
                    let is_own = origin.store_id == *store_id && origin.tx_id <= *last;
                    if !is_own && version.tx_id > *pulled {
                        others.insert(version.tx_id);
                    }
                }
            }
            Ok(())
        })?;
    }
    let count = |((_, pulled, _), others): (&Reader<'_>, BTreeSet<TxId>)| match all(*pulled) {
        near if near <= LOOKED_AT => others.len() as u64,
        far => far,
    };
    Ok(readers.iter().zip(others).map(count).collect())
}
