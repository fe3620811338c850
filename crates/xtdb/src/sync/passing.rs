//! Passes versions from one store to the other, in either direction. Must not choose them.

use super::Sharing;
use base::error::{Error, Result};
use base::object::ObjectId;
use store::archive::Taking;
use store::{ImportOptions, Imported, Store, Version};

/// The outcome for a page of versions.
#[derive(Default)]
pub(super) struct Passed {
    pub(super) imported: Vec<Imported>,
    /// Objects with a damaged version, each with the error.
    pub(super) damaged: Vec<(ObjectId, Error)>,
}

/// A direction.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) from: &'a Store,
    pub(super) to: &'a Store,
    /// Whether to replace text that looks like a secret, everywhere except in files.
    pub(super) redact: bool,
}

impl Sharing {
    /// Passes versions together; if one of them is damaged, one by one, so that the others get
    /// through.
    pub(super) fn pass_page(&self, way: Way<'_>, versions: Vec<Version>) -> Result<Passed> {
        let mut passed = Passed::default();
        if versions.is_empty() {
            return Ok(passed);
        }
        match self.pass(way, versions.clone()) {
            Ok(imported) => passed.imported.push(imported),
            Err(error) if error.is_damage() => {
                for version in versions {
                    let id = version.envelope.id.clone();
                    match self.pass(way, vec![version]) {
                        Ok(imported) => passed.imported.push(imported),
                        Err(error) if error.is_damage() => passed.damaged.push((id, error)),
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        Ok(passed)
    }

    /// Passes versions together.
    pub(super) fn pass(&self, way: Way<'_>, versions: Vec<Version>) -> Result<Imported> {
        let options = ImportOptions {
            is_excluded: self.options.is_excluded.clone(),
            ..ImportOptions::default()
        };
        let taking = Taking { redact: way.redact, nicknames: &[], options: &options };
        way.to.take(way.from, versions, taking, &mut |_| Ok(()))
    }
}
