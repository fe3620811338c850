//! Plans a flush of one file: its new text, and the outcome of each operation. Pure.

use super::FlushOutcome;
use super::insert::insert;
use super::standing::FileNow;
use crate::checks::{CheckLimits, check_entry, position_of, refuse_secret};
use crate::finding::{FindingCode, MemoryFinding};
use crate::journal::{EntryStatus, Operation};
use crate::page::Page;
use crate::parse::parse;
use crate::scope::Scope;

/// Options of a flush.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlushOptions {
    /// `strictWriteback`: whether invalid entries are refused. Otherwise they are written with a
    /// warning, except secrets.
    pub strict: bool,
    /// The limits on what is injected of a file.
    pub limits: CheckLimits,
    /// Entries of other scopes.
    pub beside: Vec<Page>,
}

/// The plan for one file.
pub(super) struct Plan {
    /// Its text.
    pub(super) text: String,
    pub(super) committed: Vec<FlushOutcome>,
    pub(super) refused: Vec<FlushOutcome>,
    pub(super) held: Vec<FlushOutcome>,
}

/// Plans the operations for a file in their order.
pub(super) fn plan(
    scope: Scope,
    file: &str,
    standing: &FileNow,
    operations: &[&Operation],
    options: &FlushOptions,
) -> Plan {
    let mut plan =
        Plan { text: standing.text.clone(), committed: vec![], refused: vec![], held: vec![] };
    if file == scope.index_file() {
        plan.add_entries(scope, operations, options);
    } else {
        for operation in operations {
            plan.add_file(standing, operation);
        }
    }
    plan
}

/// Whether the file's text holds all operations.
pub(super) fn stand_in(text: &str, scope: Scope, file: &str, operations: &[&Operation]) -> bool {
    let entries = parse(scope, file, text);
    operations.iter().all(|operation| {
        let wanted = operation.draft.text.trim();
        if file != scope.index_file() {
            return text.trim() == wanted;
        }
        operation.draft.page(scope).is_some_and(|page| position_of(&page, &entries).is_some())
    })
}

impl Plan {
    fn add_entries(&mut self, scope: Scope, operations: &[&Operation], options: &FlushOptions) {
        let standing = self.text.clone();
        let mut entries = parse(scope, scope.index_file(), &standing);
        let mut written = Vec::new();
        for operation in operations {
            let text = operation.draft.text.trim();
            let beside: Vec<Page> =
                options.beside.iter().filter(|page| page.place.scope != scope).cloned().collect();
            let findings = check_entry(&operation.draft, scope, &entries, &beside, options.limits);
            if findings.iter().any(|finding| is_refusal(finding.code, options.strict)) {
                self.refused.push(refused(operation, findings));
                continue;
            }
            let Some(mut page) = operation.draft.page(scope) else {
                let words = "the text is not an entry: it has nothing but a heading or a comment";
                let finding = MemoryFinding::new(FindingCode::Empty, words);
                self.refused.push(refused(operation, vec![finding]));
                continue;
            };
            let path = std::mem::take(&mut page.place.headings);
            let inserted = insert(&self.text, &path, page.key.as_deref(), text);
            let now = parse(scope, scope.index_file(), &inserted.text);
            // The text before may swallow the entry, and the entry may swallow the text behind.
            let is_it = |one: &&Page| {
                one.place.line as usize == inserted.line
                    && position_of(&page, std::slice::from_ref(*one)).is_some()
            };
            let place = now.iter().find(is_it).filter(|_| now.len() == entries.len() + 1);
            let Some(place) = place.cloned() else {
                let words = "it would be no entry there: a code block or a comment in the file, or in the text, has no end";
                let finding = MemoryFinding::new(FindingCode::UnclosedBlock, words);
                self.held.push(held(operation, vec![finding]));
                continue;
            };
            written.push(place);
            self.text = inserted.text;
            entries = now;
            self.committed.push(committed(operation, findings));
        }
        for (outcome, page) in self.committed.iter_mut().zip(&written) {
            let place = position_of(page, &entries);
            outcome.line = place.map(|place| entries[place].place.line as usize);
        }
    }

    fn add_file(&mut self, standing: &FileNow, operation: &Operation) {
        let text = operation.draft.text.trim_end();
        let code = match &standing.hash {
            _ if refuse_secret(&operation.draft).is_err() => FindingCode::Secret,
            _ if !self.committed.is_empty() => FindingCode::FileExists,
            None => {
                self.text = format!("{text}\n");
                return self.committed.push(committed(operation, Vec::new()));
            }
            Some(_) if standing.text.trim_end() == text => FindingCode::Duplicate,
            Some(_) => FindingCode::FileExists,
        };
        let words = match code {
            FindingCode::Secret => {
                "the text looks like it holds a secret, which memory never keeps"
            }
            FindingCode::Duplicate => "the same file is there already",
            _ => "another file of this name is there already",
        };
        self.refused.push(refused(operation, vec![MemoryFinding::new(code, words)]));
    }
}

/// Whether a finding keeps an entry from being written.
fn is_refusal(code: FindingCode, strict: bool) -> bool {
    match code {
        FindingCode::Secret | FindingCode::Empty | FindingCode::StandsForContent => true,
        FindingCode::Duplicate | FindingCode::EntryTooLarge | FindingCode::ConflictMarkers => {
            strict
        }
        _ => false,
    }
}

/// An operation that an interrupted flush had written.
pub(super) fn resumed(operation: &Operation) -> FlushOutcome {
    committed(operation, Vec::new())
}

fn committed(operation: &Operation, findings: Vec<MemoryFinding>) -> FlushOutcome {
    outcome(operation, EntryStatus::Committed, findings)
}

fn refused(operation: &Operation, findings: Vec<MemoryFinding>) -> FlushOutcome {
    let (code, reason) = reason_of(&findings);
    let mut refused = outcome(operation, EntryStatus::Refused { code, reason }, findings);
    refused.operation.draft = refused.operation.draft.redacted();
    refused
}

/// The outcome of an operation that waits for the next flush.
pub(super) fn held(operation: &Operation, findings: Vec<MemoryFinding>) -> FlushOutcome {
    let (code, reason) = reason_of(&findings);
    outcome(operation, EntryStatus::Held { code, reason }, findings)
}

fn outcome(
    operation: &Operation,
    status: EntryStatus,
    findings: Vec<MemoryFinding>,
) -> FlushOutcome {
    let operation = Operation { status, ..operation.clone() };
    FlushOutcome { operation, line: None, findings, rests_on: Vec::new() }
}

fn reason_of(findings: &[MemoryFinding]) -> (String, String) {
    let codes = findings.first().map_or("", |finding| finding.code.as_str());
    let words: Vec<String> = findings.iter().map(ToString::to_string).collect();
    (codes.to_owned(), words.join("; "))
}
