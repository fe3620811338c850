//! Checks that everything in a store is as written: every hash, every reference, every list. Reads
//! only, as of one transaction, while others may write. Must not repair anything or know a host's
//! formats.

mod items;
mod references;
mod report;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use self::references::References;
pub use self::report::{Checked, Finding, FindingKind, Report};
use super::verified::hash_mismatch;
use super::{OnProgress, Progress, SqliteBackend, Stage, Store, Version, rules};
use base::error::{Error, Result};
use base::object::{AsOf, Envelope, Hash, ObjectId, ObjectType, RedactionReason, Timestamp, TxId};

/// Unreadable transactions that are skipped one by one. After these the steps double, since damaged
/// pages may show any number as the last transaction.
const SINGLE_STEPS: u32 = 1_000;

/// Versions that a check of the newest looks at: those of some ten sessions.
const NEWEST_VERSIONS: usize = 2_000;

/// Versions, objects or contents read at a time.
const PAGE: usize = 200;

/// Checks an open store as of its newest transaction, while others may write. Takes time
/// proportional to the size of the store; keeps one page of it and the versions of one object in
/// memory.
///
/// # Errors
/// `CLOSED`; `UNSUPPORTED` for a shared store. Unreadable data is a finding, not an error.
pub fn check(store: &Store) -> Result<Report> {
    check_open(store, true, &mut |_| Ok(()))
}

/// As [`check`], or, unless `deep`, of what was written last alone, in a store of more than
/// `NEWEST_VERSIONS`: takes the same time however much has piled up.
///
/// # Errors
/// As [`check`].
pub fn check_open(store: &Store, deep: bool, progress: OnProgress<'_>) -> Result<Report> {
    let upkeep = store.upkeep("`doctor`")?;
    // A store in which that cannot be read is looked at as a whole.
    let newest = || upkeep.before_newest(NEWEST_VERSIONS).unwrap_or_default();
    let since = if deep { None } else { newest() }.unwrap_or(TxId(0));
    let mut report = Report::new(store.path());
    report.store_id = Some(store.id().to_owned());
    let mut examination = Examination {
        store,
        upkeep,
        since,
        until: TxId(i64::MAX),
        met: BTreeMap::new(),
        references: References::new(store),
        report,
        progress,
    };
    match store.newest() {
        Ok((newest, time)) => {
            examination.until = newest;
            if rules::is_ahead(time, store.now()) {
                let problem = format!("its time {time} is ahead of this machine's clock");
                examination.say(FindingKind::Time, None, Some(newest), problem);
            }
        }
        Err(error) => examination.add(FindingKind::File, None, None, &error)?,
    }
    examination.report.as_of = examination.until;
    examination.report.growth = upkeep.growth(store.now()).ok();
    let all = since == TxId(0);
    if all {
        examination.file()?;
        examination.contents()?;
    } else {
        examination.report.since = Some(since);
    }
    examination.lost()?;
    examination.versions()?;
    if all {
        for kind in ObjectType::ALL {
            examination.objects(kind)?;
        }
    } else {
        for envelope in std::mem::take(&mut examination.met).into_values() {
            examination.object(&envelope)?;
        }
    }
    Ok(examination.report)
}

/// Checks the store at `path` without changing it: all of it, or, unless `deep`, what was written
/// last. A store too damaged to open gives a report with that one finding. `progress`: how many
/// contents, versions and objects are checked.
///
/// # Errors
/// Those of [`SqliteBackend::open_read_only`]; `STORE_CORRUPT` only for a file that does not begin
/// like a database.
pub fn check_file(path: &Path, deep: bool, progress: OnProgress<'_>) -> Result<Report> {
    let path = path.to_string_lossy();
    checked(&path, Store::open_read_only(&path), deep, progress)
}

/// Checks a store that was opened to read it.
pub(crate) fn checked(
    path: &str,
    opened: Result<Store>,
    deep: bool,
    progress: OnProgress<'_>,
) -> Result<Report> {
    let store = match opened {
        Ok(store) => store,
        Err(error @ Error::StoreCorrupt { .. }) => {
            let mut report = Report::new(path);
            report.add(Finding::from_error(FindingKind::File, None, None, &error));
            return Ok(report);
        }
        Err(error) => return Err(error),
    };
    let report = check_open(&store, deep, progress)?;
    store.close()?;
    Ok(report)
}

/// Moves a damaged store and its accompanying files to `NAME.corrupt-N`, and returns the new path.
/// The next opening creates a new store. `force` moves it without checking it, whatever it is.
///
/// # Errors
/// `INVALID_ARGUMENT` if nothing in it is damaged; those of [`SqliteBackend::set_aside`] and
/// [`check_file`].
pub fn set_aside(path: &Path, force: bool) -> Result<PathBuf> {
    if !force && !check_file(path, true, &mut |_| Ok(()))?.is_damaged() {
        let problem =
            "is a store in which nothing is damaged; it is set aside only if that is forced";
        return Err(Error::argument("path", problem));
    }
    SqliteBackend::set_aside(path)
}

/// A check in progress.
struct Examination<'a> {
    store: &'a Store,
    upkeep: &'a SqliteBackend,
    /// Only later transactions are checked.
    since: TxId,
    /// Later transactions are not checked.
    until: TxId,
    /// Objects of the versions that were checked, unless all are.
    met: BTreeMap<ObjectId, Envelope>,
    references: References<'a>,
    report: Report,
    progress: OnProgress<'a>,
}

impl Examination<'_> {
    /// Says how much is checked.
    fn tell(&mut self) -> Result<()> {
        let checked = &self.report.checked;
        let done = checked.contents + checked.versions + checked.objects;
        (self.progress)(Progress { stage: Stage::Checking, done, of: None })
    }

    fn add(
        &mut self,
        kind: FindingKind,
        object: Option<&ObjectId>,
        tx_id: Option<TxId>,
        error: &Error,
    ) -> Result<()> {
        if let Error::Closed { what } = error {
            return Err(Error::Closed { what });
        }
        self.found(Finding::from_error(kind, object, tx_id, error));
        Ok(())
    }

    /// What was read; that it cannot be read is a finding.
    fn read<T>(
        &mut self,
        kind: FindingKind,
        object: Option<&ObjectId>,
        read: Result<T>,
    ) -> Result<Option<T>> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) => self.add(kind, object, None, &error).map(|()| None),
        }
    }

    fn say(
        &mut self,
        kind: FindingKind,
        object: Option<&ObjectId>,
        tx_id: Option<TxId>,
        problem: String,
    ) {
        self.found(Finding { kind, object: object.cloned(), tx_id, problem });
    }

    /// What an object lacks because it is being dropped is no damage.
    fn found(&mut self, finding: Finding) {
        let object = finding.object.as_ref();
        if !object.is_some_and(|id| self.upkeep.is_being_dropped(id).unwrap_or(false)) {
            self.report.add(finding);
        }
    }

    /// Runs the backend's own checks.
    fn file(&mut self) -> Result<()> {
        let problems = self.read(FindingKind::File, None, self.upkeep.check_integrity())?;
        for problem in problems.unwrap_or_default() {
            self.say(FindingKind::File, None, None, problem);
        }
        Ok(())
    }

    /// Reports transactions that went missing.
    fn lost(&mut self) -> Result<()> {
        let all = self.read(FindingKind::File, None, self.store.lost())?;
        for lost in all.unwrap_or_default() {
            let problem = format!(
                "transactions {} to {} of store `{}` had been written and were missing on {}",
                lost.from, lost.to, lost.store_id, lost.noticed
            );
            self.say(FindingKind::Lost, None, Some(lost.to), problem);
        }
        Ok(())
    }

    /// Checks every content, including those that no version refers to.
    fn contents(&mut self) -> Result<()> {
        let mut after: Option<Hash> = None;
        loop {
            let page = self.upkeep.content_hashes(after.as_ref(), PAGE);
            let Some(page) = self.read(FindingKind::Content, None, page)? else { return Ok(()) };
            for hash in &page {
                self.content(hash)?;
            }
            self.tell()?;
            match page.into_iter().next_back() {
                Some(last) => after = Some(last),
                None => return Ok(()),
            }
        }
    }

    fn content(&mut self, recorded: &Hash) -> Result<()> {
        let text = self.store.backend().content(recorded);
        // One that was removed since it was listed, and that a version still needs, shows when that
        // version is checked.
        let Some(Some(text)) = self.read(FindingKind::Content, None, text)? else { return Ok(()) };
        let found = Hash::of(&text);
        if found != *recorded {
            let error = hash_mismatch("content", &found, recorded);
            self.add(FindingKind::Content, None, None, &error)?;
        }
        self.report.checked.contents += 1;
        self.report.checked.content_bytes += text.len() as u64;
        Ok(())
    }

    /// Checks every version, in the order of writing.
    fn versions(&mut self) -> Result<()> {
        let (mut after, mut limit, mut time) = (self.since, PAGE, Timestamp(i64::MIN));
        let mut unreadable: Option<(TxId, Error)> = None;
        let mut failures = 0_u32;
        while after < self.until {
            let page = match self.store.changes(after, limit) {
                Ok(page) => page,
                // Try again in the smallest steps, to find the unreadable transaction.
                Err(_) if limit > 1 => {
                    limit = 1;
                    continue;
                }
                Err(error) => {
                    let first = TxId(after.0.saturating_add(1));
                    unreadable.get_or_insert((first, error));
                    let step = 1_i64 << failures.saturating_sub(SINGLE_STEPS).min(62);
                    after = TxId(after.0.saturating_add(step));
                    failures += 1;
                    continue;
                }
            };
            (limit, failures) = (PAGE, 0);
            self.unreadable(unreadable.take(), after)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.tx_id;
            for version in &page {
                if version.tx_id > self.until {
                    return Ok(());
                }
                if version.system_time < time {
                    let problem = format!("its time {} is before {time}", version.system_time);
                    let (id, tx_id) = (&version.envelope.id, version.tx_id);
                    self.say(FindingKind::Time, Some(id), Some(tx_id), problem);
                }
                time = version.system_time;
                self.version(version)?;
            }
            self.tell()?;
        }
        self.unreadable(unreadable, after)
    }

    /// Reports unreadable versions among the transactions up to `last`.
    fn unreadable(&mut self, first: Option<(TxId, Error)>, last: TxId) -> Result<()> {
        let Some((first, error)) = first else { return Ok(()) };
        if matches!(error, Error::Closed { .. }) {
            return Err(error);
        }
        let mut finding = Finding::from_error(FindingKind::Version, None, Some(first), &error);
        if last > first {
            finding.problem = format!("{} (among transactions {first} to {last})", finding.problem);
        }
        self.report.add(finding);
        Ok(())
    }

    fn version(&mut self, version: &Version) -> Result<()> {
        let (id, tx_id) = (&version.envelope.id, version.tx_id);
        self.report.checked.versions += 1;
        if self.since > TxId(0) {
            self.met.insert(id.clone(), version.envelope.clone());
        }
        if let Err(error) = self.verify(version) {
            self.add(FindingKind::Version, Some(id), Some(tx_id), &error)?;
        }
        if !has_its_identity(version)? {
            let problem = "its ID, type and source do not hash to its identity".to_owned();
            self.say(FindingKind::Envelope, Some(id), Some(tx_id), problem);
        }
        let dangling = self.references.in_fields(&version.fields)?;
        self.dangling(id, tx_id, dangling);
        Ok(())
    }

    /// Checks a payload by its hash. If it does not match, reads the version again: it may have
    /// been forgotten meanwhile.
    fn verify(&self, version: &Version) -> Result<()> {
        let Err(error) = self.store.verify(version) else { return Ok(()) };
        match self.store.get(&version.envelope.id, AsOf::Tx(version.tx_id))? {
            Some(again) if again != *version => self.store.verify(&again),
            _ => Err(error),
        }
    }

    fn dangling(&mut self, id: &ObjectId, tx_id: TxId, dangling: Vec<String>) {
        self.report.checked.references = self.references.checked;
        for problem in dangling {
            self.say(FindingKind::Reference, Some(id), Some(tx_id), problem);
        }
    }

    /// Checks every object of one type: its nicknames and its items.
    fn objects(&mut self, kind: ObjectType) -> Result<()> {
        for page in self.store.pages(kind, PAGE) {
            let Some(page) = self.read(FindingKind::Version, None, page)? else { break };
            for version in &page {
                self.object(&version.envelope)?;
            }
            self.tell()?;
        }
        Ok(())
    }

    fn object(&mut self, envelope: &Envelope) -> Result<()> {
        let id = &envelope.id;
        self.report.checked.objects += 1;
        let nicknames = self.store.nicknames(id);
        let Some(nicknames) = self.read(FindingKind::Nickname, Some(id), nicknames)? else {
            return Ok(());
        };
        for nickname in nicknames {
            // A nickname that was given away meanwhile leads elsewhere; only one that leads nowhere
            // is damage.
            if matches!(self.store.find_nickname(&nickname), Ok(None) | Err(_))
                && self.store.nicknames(id).is_ok_and(|present| present.contains(&nickname))
            {
                let problem = format!("its nickname `{}` does not lead to it", nickname.as_str());
                self.say(FindingKind::Nickname, Some(id), None, problem);
            }
        }
        if envelope.kind.is_content() {
            return Ok(());
        }
        let versions = self.read(FindingKind::Version, Some(id), self.store.history(id))?;
        versions.map_or(Ok(()), |versions| self.items(id, &versions))
    }
}

/// Whether an envelope hashes to its identity. A forgotten object has lost the source that its
/// identity was made from.
fn has_its_identity(version: &Version) -> Result<bool> {
    let forgotten =
        version.redacted.as_ref().is_some_and(|it| it.reason == RedactionReason::Forgotten);
    let nameless = version.redacted.is_some() && version.envelope.is_nameless();
    let Envelope { id, kind, source, .. } = &version.envelope;
    let made = match source {
        Some(source) => Envelope::sourced(*kind, source.clone())?,
        None if forgotten || nameless => return Ok(true),
        None => Envelope::unsourced(id.clone(), *kind)?,
    };
    Ok(made == version.envelope)
}
