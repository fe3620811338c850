//! The report of a check: what was checked, what is wrong, and how to fix it. Must not read a
//! store.

use serde::Serialize;

use crate::Growth;
use base::error::Error;
use base::object::{ObjectId, TxId};

/// Most findings that a report lists; the rest is only counted.
const LISTED: usize = 200;

/// What was checked, and what is wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The file, or the backend's name in colons.
    pub path: String,
    /// ID of the store; `None` if the file cannot be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store_id: Option<String>,
    /// The transaction as of which everything was checked.
    pub as_of: TxId,
    /// Only what was written after this transaction was checked; `None` if all was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<TxId>,
    /// What was checked.
    pub checked: Checked,
    /// How large the store is, and how it grows; `None` if that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// What is wrong, in the order of discovery; at most 200, damage before what is none.
    pub findings: Vec<Finding>,
    /// Number of findings that are not listed.
    pub more_findings: u64,
}

/// Counts of what was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Checked {
    /// Objects: envelope, nicknames.
    pub objects: u64,
    /// Versions: payload hash, order in time.
    pub versions: u64,
    /// Distinct contents: hash.
    pub contents: u64,
    /// UTF-8 bytes of these.
    pub content_bytes: u64,
    /// Items of chats and sessions: running hash, place.
    pub items: u64,
    /// UTF-8 bytes of these.
    pub item_bytes: u64,
    /// Pinned references in fields and items: whether the store holds the version.
    pub references: u64,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// The object concerned, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectId>,
    /// The transaction of the version concerned, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_id: Option<TxId>,
    /// What is wrong, in words.
    pub problem: String,
}

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The file cannot be opened or its pages, indexes or rows are damaged.
    File,
    /// A content is missing or does not match its hash.
    Content,
    /// A version cannot be read, or its payload does not match its hash.
    Version,
    /// An envelope does not match its identity hash.
    Envelope,
    /// Items are missing or do not match their running hashes.
    Items,
    /// A nickname leads nowhere.
    Nickname,
    /// A transaction is earlier than the one before it, or over an hour ahead of the clock.
    Time,
    /// Acknowledged transactions are missing; the rest may be whole.
    Lost,
    /// A pinned reference names a version that the store lacks.
    Reference,
}

impl FindingKind {
    /// Stable name in snake case, for programs.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether it is damage: the file differs from what was written. Otherwise something is missing
    /// that may never have existed, or a time is wrong, which says nothing of the text.
    pub fn is_damage(self) -> bool {
        !matches!(self, Self::Lost | Self::Reference | Self::Time)
    }

    /// How to deal with it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::File => {
                "export what can still be read, then run `palimpsest doctor --set-aside`: the file is kept under another \
                 name (`sqlite3 FILE .recover` may get more out of it) and a new store starts; look to the disk"
            }
            Self::Content | Self::Version | Self::Items => {
                "import it again from an archive or another machine's store; everything else can still be used"
            }
            Self::Envelope | Self::Nickname => {
                "the rest can still be used; export it and import it into a new store"
            }
            Self::Time => {
                "all can be used as it is; other stores take what is ahead once its time has come, so set the clock right"
            }
            Self::Lost => {
                "nothing can bring it back but an archive or a copy of the file; its numbers are not used again"
            }
            Self::Reference => {
                "import what it refers to, if another store holds it; else nothing needs to be done"
            }
        }
    }
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_healthy(&self) -> bool {
        self.findings.is_empty()
    }

    /// Whether any finding is damage.
    pub fn is_damaged(&self) -> bool {
        self.findings.iter().any(|finding| finding.kind.is_damage())
    }

    pub(super) fn new(path: &str) -> Self {
        Self { path: path.to_owned(), ..Self::default() }
    }

    pub(super) fn add(&mut self, finding: Finding) {
        if self.findings.len() < LISTED {
            self.findings.push(finding);
        } else {
            self.more_findings += 1;
            // Damage is listed before what is none, however much there is of that.
            let other = self.findings.iter_mut().rfind(|known| !known.kind.is_damage());
            if let Some(other) = other.filter(|_| finding.kind.is_damage()) {
                *other = finding;
            }
        }
    }
}

impl Finding {
    /// An error as a finding.
    pub(super) fn from_error(
        kind: FindingKind,
        object: Option<&ObjectId>,
        tx_id: Option<TxId>,
        error: &Error,
    ) -> Self {
        // SQLite's own message is the cause.
        let cause = std::error::Error::source(error);
        let problem = cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
        Self { kind, object: object.cloned(), tx_id, problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_listed_however_much_else_was_found_before() {
        let mut report = Report::new("store.sqlite");
        let finding = |kind| Finding { kind, object: None, tx_id: None, problem: String::new() };
        for _ in 0..LISTED + 5 {
            report.add(finding(FindingKind::Reference));
        }
        assert!(!report.is_damaged());
        report.add(finding(FindingKind::Envelope));
        assert_eq!((report.findings.len(), report.more_findings), (LISTED, 6));
        assert!(report.is_damaged());
    }
}
