//! Moves everything from one store of any kind to another, and compares both by their hashes.

use std::collections::BTreeMap;

use super::VERSIONS_AT_ONCE;
use base::error::{Error, Result};
use base::object::{ObjectId, ObjectType, Origin, TxId};
use store::archive::Taking;
use store::{ImportOptions, LeftOut, OnProgress, Progress, Stage, Store, Version};

/// The result of a migration.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Migrated {
    /// Versions that the new store lacked.
    pub versions: u64,
    /// Versions that the new store already had.
    pub present: u64,
    /// Nicknames given.
    pub nicknames: u64,
    /// Objects whose every version was compared.
    pub objects: u64,
    /// Versions that are in both stores, with everything that hashes cover.
    pub verified: u64,
    /// What was left out, with the reason, by object.
    pub left_out: Vec<LeftOut>,
    /// The IDs that calls have in the new store, which has their own for other calls.
    #[serde(skip)]
    calls: BTreeMap<ObjectId, ObjectId>,
}

/// Copies all versions and nicknames of `from` that `to` lacks, and then reads every version of
/// `from` in `to`: payloads and items are compared by their hashes. Progress counts versions. It
/// may be interrupted and repeated.
///
/// # Errors
/// Those of reading and writing; `HASH_MISMATCH` for a version that differs in `to`.
pub fn migrate(from: &Store, to: &Store, progress: OnProgress<'_>) -> Result<Migrated> {
    let (until, _) = from.newest()?;
    let mut migrated = Migrated::default();
    let options = ImportOptions { is_own: true, ..ImportOptions::default() };
    for page in from.log(until, VERSIONS_AT_ONCE) {
        let versions = page?;
        let mut nicknames = Vec::new();
        for version in &versions {
            let id = &version.envelope.id;
            nicknames.extend(from.nicknames(id)?.into_iter().map(|name| (name, id.clone())));
        }
        let taking = Taking { redact: false, nicknames: &nicknames, options: &options };
        let imported = to.take(from, versions, taking, &mut |_| Ok(()))?;
        migrated.versions += imported.versions;
        migrated.present += imported.present;
        migrated.nicknames += imported.nicknames;
        migrated.calls.extend(imported.calls);
        migrated.left_out.extend(imported.left_out);
        let done = migrated.versions + migrated.present;
        progress(Progress { stage: Stage::Taking, done, of: None })?;
    }
    compare(from, to, until, &mut migrated, progress)?;
    Ok(migrated)
}

fn compare(
    from: &Store,
    to: &Store,
    until: TxId,
    migrated: &mut Migrated,
    progress: OnProgress<'_>,
) -> Result<()> {
    for kind in ObjectType::ALL {
        for page in from.pages(kind, VERSIONS_AT_ONCE) {
            for latest in page? {
                compare_object(from, to, until, &latest.envelope.id, migrated)?;
            }
            let (done, stage) = (migrated.verified, Stage::Checking);
            progress(Progress { stage, done, of: Some(migrated.versions + migrated.present) })?;
        }
    }
    Ok(())
}

fn compare_object(
    from: &Store,
    to: &Store,
    until: TxId,
    id: &ObjectId,
    migrated: &mut Migrated,
) -> Result<()> {
    if migrated.left_out.iter().any(|one| one.id == *id && one.versions > 0) {
        return Ok(());
    }
    let there = to.history(migrated.calls.get(id).unwrap_or(id))?;
    for version in from.history(id)?.into_iter().filter(|version| version.tx_id <= until) {
        let same = |other: &&Version| is_same(&version.origin, &other.origin);
        let found = there.iter().find(same);
        let known = |version: &Version| {
            let Version { content_hash, items_hash, item_count, .. } = version;
            format!("{content_hash} {items_hash:?} {item_count}")
        };
        let (recorded, found_hash) = (known(&version), found.map(known).unwrap_or_default());
        if recorded != found_hash {
            let what = format!("version {} of `{id}` in the new store", version.tx_id);
            return Err(Error::HashMismatch { what, found: found_hash, recorded });
        }
        if let Some(found) = found {
            to.verify(found)?;
        }
        migrated.verified += 1;
    }
    migrated.objects += 1;
    Ok(())
}

fn is_same(one: &Origin, other: &Origin) -> bool {
    (&one.store_id, one.tx_id) == (&other.store_id, other.tx_id)
}
