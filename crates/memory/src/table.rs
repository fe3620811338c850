//! `page-table.jsonl`: a folder's pages as last seen, with their sizes and the fidelity at which
//! they are resident. It keeps resident pages resident from session to session, and can always be
//! rebuilt from the Markdown. Must not hold anything that the Markdown cannot.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::fidelity::{Fidelity, Forms};
use super::finding::MemoryFinding;
use super::page::{Page, PageId, PageKind};
use super::scope::Scope;
use super::sidecar::MemoryFolder;
use base::error::{Error, Result};

/// Name of the file.
pub const TABLE_FILE: &str = "page-table.jsonl";

/// A page in the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Stable name.
    pub id: PageId,
    /// Scope.
    pub scope: Scope,
    /// Path in the scope's folder, with `/`.
    pub file: String,
    /// First line, from 1.
    pub line: u32,
    /// Last line.
    pub last_line: u32,
    /// Its kind.
    pub kind: PageKind,
    /// Its subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether it is pinned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Tokens at each fidelity, lowest first.
    pub tokens: [u32; 4],
    /// The fidelity at which it is resident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident: Option<Fidelity>,
}

impl Row {
    /// The row for a page.
    pub fn of(page: &Page, forms: &Forms, resident: Option<Fidelity>) -> Self {
        Self {
            id: page.id.clone(),
            scope: page.place.scope,
            file: page.place.file.clone(),
            line: page.place.line,
            last_line: page.place.last_line,
            kind: page.kind,
            key: page.key.clone(),
            pinned: page.is_pinned,
            tokens: Fidelity::ALL.map(|fidelity| forms.at(fidelity).tokens),
            resident,
        }
    }
}

/// Writes each folder's table that the rows differ from. A failed write is harmless.
pub(super) fn keep(folders: &[(Scope, MemoryFolder)], rows: Vec<Row>) {
    let mut by_folder: BTreeMap<Scope, Vec<Row>> = BTreeMap::new();
    for row in rows {
        by_folder.entry(row.scope.of_folder()).or_default().push(row);
    }
    for (scope, folder) in folders {
        let now = by_folder.remove(scope).unwrap_or_default();
        // An empty table does not create a folder.
        if read(folder).0 != now {
            drop(write(folder, &now));
        }
    }
}

/// Reads a folder's table, and reports the lines that do not count.
pub(super) fn read(folder: &MemoryFolder) -> (Vec<Row>, Vec<MemoryFinding>) {
    let (lines, findings) = folder.read_lines::<Row>(TABLE_FILE);
    (lines.entries.into_iter().map(|(row, _)| row).collect(), findings)
}

fn write(folder: &MemoryFolder, rows: &[Row]) -> Result<()> {
    let lines = rows.iter().map(|row| Ok(serde_json::to_string(row)? + "\n"));
    let text: serde_json::Result<String> = lines.collect();
    let text =
        text.map_err(|error| Error::internal(format!("a row of the page table: {error}")))?;
    folder.write(TABLE_FILE, text.as_bytes())
}
