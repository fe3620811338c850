//! Whether recall knows when it does not know: entries of memory with a question each
//! (`questions/*.tsv`), and questions that none of them answers. The numbers of
//! `src/recall/confidence.rs` were chosen on one half; the other is what counts. Prints a table.
//!
//! Entries that fill memory are what the sources of this workspace say of their functions. A long
//! run has 2,000 of them, and asks LoCoMo's questions of other conversations.

use std::fmt::Write as _;
use std::path::Path;

use memory::{Folders, Memory, RecallAnswer, RecallOptions, RecallPlace, RecallReason};
use testing::conversations::{Conversation, conversations, count};

const CHOSEN: [&str; 2] =
    [include_str!("questions/chosen.tsv"), include_str!("questions/chosen-unanswered.txt")];
const REPORTED: [&str; 2] =
    [include_str!("questions/reported.tsv"), include_str!("questions/reported-unanswered.txt")];

/// What came of the questions of a half.
#[derive(Debug, Default)]
struct Outcome {
    answerable: usize,
    /// Of these, not called answered.
    doubted: usize,
    /// Of these, with the entry among the first three hits.
    among_three: usize,
    unanswerable: usize,
    /// Of these, not called answered.
    refused: usize,
}

impl Outcome {
    #[expect(clippy::print_stderr, reason = "the table is what the test is run for")]
    fn print(&self, name: &str) {
        let Self { answerable, doubted, among_three, unanswerable, refused } = self;
        eprintln!(
            "{name:28} answerable {answerable:3}: {doubted:2} doubted, {among_three:3} among three · \
             unanswerable {unanswerable:3}: {refused:3} refused"
        );
    }

    fn share_doubted(&self) -> f64 {
        count(self.doubted) / count(self.answerable)
    }

    fn share_refused(&self) -> f64 {
        count(self.refused) / count(self.unanswerable)
    }
}

/// Asks all questions of a half. `size`: entries of one memory; `filling`: further ones.
fn asked([answerable, unanswerable]: [&str; 2], size: usize, filling: &[String]) -> Outcome {
    let pairs: Vec<(&str, &str)> =
        answerable.lines().filter_map(|line| line.split_once('\t')).collect();
    let mut outcome = Outcome::default();
    for pairs in pairs.chunks(size) {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = noted(folder.path(), pairs, filling);
        for (at, (_, question)) in pairs.iter().enumerate() {
            let found = recall(&mut memory, question);
            outcome.answerable += 1;
            outcome.doubted += usize::from(found.reason != RecallReason::Ok);
            let is_it = |place: &RecallPlace| matches!(place, RecallPlace::File { line, .. } if *line == at as u64 + 3);
            outcome.among_three +=
                usize::from(found.hits.iter().take(3).any(|hit| is_it(&hit.place)));
        }
        for question in unanswerable.lines() {
            let found = recall(&mut memory, question);
            outcome.unanswerable += 1;
            outcome.refused += usize::from(found.reason != RecallReason::Ok);
        }
    }
    outcome
}

/// Memory with these entries.
fn noted(folder: &Path, pairs: &[(&str, &str)], filling: &[String]) -> Memory {
    let mut text = "# Notes\n\n".to_owned();
    let entries = pairs.iter().map(|(entry, _)| *entry).chain(filling.iter().map(|entry| &**entry));
    for entry in entries {
        writeln!(text, "- {entry}").unwrap();
    }
    std::fs::create_dir(folder.join("memory")).unwrap();
    std::fs::write(folder.join("memory/MEMORY.md"), text).unwrap();
    Memory::new(Folders::new(Some(folder), None, false))
}

fn recall(memory: &mut Memory, question: &str) -> RecallAnswer {
    memory.recall(question, &RecallOptions::default(), None)
}

/// What the sources of the workspace say of their functions, with the file.
fn filling(limit: usize) -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files: Vec<_> = walkdir(crates);
    files.sort();
    let mut entries = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(crates).unwrap().display().to_string();
        let said = text.lines().filter_map(|line| line.trim().strip_prefix("/// "));
        let whole = said.filter(|line| line.ends_with('.') && line.split(' ').count() > 7);
        entries.extend(whole.map(|line| format!("{line} (`{name}`)")));
    }
    // Of all parts of the workspace, the same in each run.
    let step = (entries.len() / limit.max(1)).max(1);
    entries.into_iter().step_by(step).take(limit).collect()
}

fn walkdir(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files = Vec::new();
    for path in entries {
        if path.is_dir() {
            files.extend(walkdir(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && path.components().any(|part| part.as_os_str() == "src")
        {
            files.push(path);
        }
    }
    files
}

#[test]
fn recall_says_when_nothing_answers() {
    let sizes: &[(usize, usize)] = if testing::cases::is_long() {
        &[(12, 0), (60, 0), (60, 240), (60, 1_940)]
    } else {
        &[(12, 0), (60, 240)]
    };
    for (size, further) in sizes {
        let filling = filling(*further);
        let name = |half: &str| format!("{half}, {} entries", size + filling.len());
        asked(CHOSEN, *size, &filling).print(&name("chosen"));
        let outcome = asked(REPORTED, *size, &filling);
        outcome.print(&name("reported"));
        assert!(outcome.share_doubted() <= 0.05, "{outcome:?}");
        assert!(outcome.share_refused() >= 0.9, "{outcome:?}");
        assert!(count(outcome.among_three) >= 0.9 * count(outcome.answerable), "{outcome:?}");
    }
}

/// Of the conversations the first three had a part in the choice.
#[test]
fn questions_on_others_lives_are_refused() {
    let Some(conversations) = conversations() else { return };
    for (name, half) in [("chosen", &conversations[..3]), ("reported", &conversations[3..])] {
        let mut outcome = Outcome::default();
        for (at, conversation) in half.iter().enumerate() {
            let folder = tempfile::tempdir().unwrap();
            let mut memory = told(folder.path(), conversation);
            let step = if testing::cases::is_long() { 3 } else { 15 };
            let other = &half[(at + 1) % half.len()];
            for (own, others) in conversation.questions.iter().zip(&other.questions).step_by(step) {
                outcome.answerable += 1;
                let answer = recall(&mut memory, &own.text);
                outcome.doubted += usize::from(answer.reason != RecallReason::Ok);
                outcome.unanswerable += 1;
                let answer = recall(&mut memory, &others.text);
                outcome.refused += usize::from(answer.reason != RecallReason::Ok);
            }
        }
        outcome.print(&format!("LoCoMo, {name}"));
        assert!(outcome.share_doubted() <= 0.1 && outcome.share_refused() >= 0.85, "{outcome:?}");
    }
}

fn told(folder: &Path, conversation: &Conversation) -> Memory {
    let mut text = String::new();
    let mut before = "";
    for turn in &conversation.turns {
        if turn.session() != before {
            before = turn.session();
            write!(text, "\n# {}\n\n", turn.date).unwrap();
        }
        writeln!(text, "- {}", turn.line.split_whitespace().collect::<Vec<_>>().join(" ")).unwrap();
    }
    std::fs::create_dir(folder.join("memory")).unwrap();
    std::fs::write(folder.join("memory/told.md"), text).unwrap();
    Memory::new(Folders::new(Some(folder), None, false))
}
