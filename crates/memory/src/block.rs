//! Memory's text in the system prompt: what memory is and how to keep it, then each scope's pages
//! in file order. The same pages give the same bytes. Must not choose pages.

use std::fmt::Write as _;
use std::path::Path;

use super::checks::without_comments;
use super::fidelity::Fidelity;
use super::load::MemoryFile;
use super::page::{Page, words};
use super::scope::{Folders, Scope, shown_path};
use base::object::quote;

/// The mark behind a stale page. `words`: what became of the files that it cites.
pub fn stale_mark(words: &str) -> String {
    format!(" ({words})")
}

/// The first line of the text, by which it is found in a system prompt.
pub const FIRST_LINE: &str =
    "Memory that outlives sessions, as Markdown files (not AGENTS.md, which is the user's):";

/// A page in the block.
#[derive(Debug, Clone, Copy)]
pub struct ShownPages<'a> {
    /// The page.
    pub page: &'a Page,
    /// Its fidelity.
    pub fidelity: Fidelity,
    /// Its lines at that fidelity.
    pub text: &'a str,
    /// What became of its cited files, if it is stale.
    pub stale: Option<&'static str>,
}

/// What memory is and how to keep it. `home`: the user's home folder, abbreviated to `~`.
/// `is_empty`: whether there is no memory yet; the text then says, in fewer words, how to begin
/// one.
pub fn preamble(folders: &Folders, home: Option<&Path>, is_empty: bool) -> String {
    let mut text = format!("{FIRST_LINE}\n");
    let file = if is_empty { Scope::Global.index_file() } else { "" };
    if let Some(folder) = folders.folder(Scope::Global) {
        let folder = quote::name(&shown_path(folder, home)).into_owned();
        let _ = writeln!(text, "- global, for all projects: {folder}/{file}");
    }
    if folders.names_project() {
        // Where a clone has its memory changes no request before the person trusts it.
        let shown = folders.shown_project().filter(|_| folders.folder(Scope::Project).is_some());
        let folder = shown.unwrap_or_else(|| ".pi/memory".to_owned());
        let folder = quote::name(&folder.replace('\\', "/")).into_owned();
        let local = folders.local_elsewhere().map(|path| shown_path(&path, home));
        let local = local.as_deref().map_or(Scope::Local.index_file().into(), quote::name);
        let _ =
            writeln!(text, "- project, committed for the team: {folder}/{file}; private: {local}");
    }
    if let Some(folder) = folders.folder(Scope::Conversation) {
        let folder = shown_path(folder, home);
        let _ = writeln!(text, "- of this conversation alone: {folder}/{file}");
    }
    text.push_str(if is_empty { EMPTY_GUIDANCE } else { GUIDANCE });
    text
}

/// How to begin a memory.
const EMPTY_GUIDANCE: &str = "\
    Nothing is there yet. Save what later sessions need (corrections, commands, constraints, decisions and why) with edit or write: \
    one fact per line, `- key: value`, under `##` headings; no secrets, nothing that code, git or AGENTS.md says.";

/// How to keep one.
const GUIDANCE: &str = "\
    Each has an index, MEMORY.md, whose entries stand below, and topic files to read when they matter. Save what later sessions \
    need (corrections, commands, constraints, decisions and why) with edit or write:\n\
    - Mend an entry rather than add a second one.\n\
    - One fact per line, `- key: value`, under `##` headings; detail goes into a topic file that the index links to.\n\
    - Delete what is wrong; move what is merely old to archive/.\n\
    - No secrets, nothing that code, git or AGENTS.md says; project memory is read by the team.";

/// How to ask it. `tool`: as it is called.
pub fn asking(tool: &str) -> String {
    format!(
        "\n- {tool} with name `memory: WORDS` searches all of it; `memory: confirm ID` unmarks an entry that you checked."
    )
}

/// Title of a scope's pages.
pub fn title(scope: Scope) -> String {
    let name = match scope {
        Scope::Global => "Global",
        Scope::Project => "Project",
        Scope::Local => "Yours in this project",
        Scope::Conversation => "This conversation's",
    };
    format!("## {name} ({})", scope.index_file())
}

/// The pages of the block, in the order of scopes, files and lines; empty if there are none.
///
/// `more`: for each scope, how many entries of its index are not shown.
pub fn pages(shown: &[ShownPages<'_>], more: &[(Scope, usize)]) -> String {
    let mut text = String::new();
    for scope in Scope::ALL {
        let hidden = more.iter().find(|(of, _)| *of == scope).map_or(0, |(_, count)| *count);
        let mut of_scope = shown.iter().filter(|shown| shown.page.place.scope == scope).peekable();
        if of_scope.peek().is_none() && hidden == 0 {
            continue;
        }
        let _ = write!(text, "\n\n{}", title(scope));
        text.push_str(&pages_below_headings(of_scope));
        if hidden > 0 {
            let entries = if hidden == 1 { "entry" } else { "entries" };
            let _ = write!(text, "\n… {hidden} more {entries} in {}", scope.index_file());
        }
    }
    text
}

fn pages_below_headings<'a>(shown: impl Iterator<Item = &'a ShownPages<'a>>) -> String {
    let (mut text, mut heading) = (String::new(), String::new());
    let mut lead_in = None;
    for shown in shown {
        let above = heading_of(shown.page);
        if above != heading {
            if !above.is_empty() {
                let _ = write!(text, "\n{above}");
            }
            heading = above;
            lead_in = None;
        }
        text.push('\n');
        // What is not announced must not stand below what announces something else.
        if shown.page.lead_in != lead_in {
            let announced = quote::section(&shown.page.announced(usize::MAX)).into_owned();
            text.push_str(if announced.is_empty() { "\n" } else { &announced });
            lead_in.clone_from(&shown.page.lead_in);
        }
        text.push_str(shown.text);
        if let Some(words) = shown.stale {
            text.push_str(&stale_mark(words));
        }
    }
    text
}

/// The bytes and lines of each scope's pages in a block, with the headings above them, in the order
/// of [`Scope::ALL`].
pub fn sizes(shown: &[ShownPages<'_>]) -> Vec<(usize, usize)> {
    let size = |scope| {
        let of_scope = shown.iter().filter(|shown| shown.page.place.scope == scope);
        let text = pages_below_headings(of_scope);
        (text.len(), text.matches('\n').count())
    };
    Scope::ALL.into_iter().map(size).collect()
}

/// The line above an entry: its headings, without a title such as `Memory`. Sections of topic files
/// share one, since they name their place themselves. Empty if no heading is above it.
fn heading_of(page: &Page) -> String {
    if !page.is_entry() {
        return "### Topics".to_owned();
    }
    let is_title = |heading: &String| words(heading).iter().any(|word| word == "memory");
    let headings = &page.place.headings;
    let below = if headings.first().is_some_and(is_title) { &headings[1..] } else { headings };
    match &*below.join(" / ") {
        "" => String::new(),
        headings => quote::section(&format!("### {}", quote::line(headings))).into_owned(),
    }
}

/// The first lines of each index as they are, with text that could pass for ours defused, up to the
/// given numbers of lines and bytes.
pub fn capped_indexes(files: &[MemoryFile], max_lines: u64, max_bytes: u64) -> String {
    let mut text = String::new();
    for scope in Scope::ALL {
        let index = files.iter().find(|file| file.scope == scope && file.is_index());
        let Some(index) = index.filter(|index| !index.text.trim().is_empty()) else { continue };
        let said = index.text.split_inclusive('\n').zip(1..);
        let said = said.filter(|(_, line)| !index.is_withheld(*line)).map(|(line, _)| line);
        let (shown, lines) = capped(said, max_lines, max_bytes);
        let shown = shown.replace("\r\n", "\n");
        let _ = write!(
            text,
            "\n\n{}\n{}",
            title(scope),
            quote::section(&without_comments(shown.trim_end()))
        );
        let left = (index.text.lines().count() as u64).saturating_sub(lines);
        if left > 0 {
            let lines = if left == 1 { "line" } else { "lines" };
            let _ = write!(text, "\n… {left} more {lines} in {}", scope.index_file());
        }
    }
    text
}

/// The first of these lines that keep within the numbers of lines and bytes, and how many they are. Of a
/// first line that is longer, its beginning.
pub(super) fn capped<'a>(
    lines: impl Iterator<Item = &'a str>,
    max_lines: u64,
    max_bytes: u64,
) -> (String, u64) {
    let room = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let (mut shown, mut whole) = (String::new(), 0);
    for line in lines {
        let fits = shown.len() + line.len() <= room;
        if whole == max_lines || (!fits && whole > 0) {
            break;
        }
        if !fits {
            let end = (0..=room).rev().find(|at| line.is_char_boundary(*at)).unwrap_or_default();
            shown.push_str(&line[..end]);
            break;
        }
        shown.push_str(line);
        whole += 1;
    }
    (shown, whole)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::fidelity::Forms;
    use crate::note::ToldPages;
    use crate::parse::parse;
    use base::object::Hash;
    use testing::hostile;

    /// An index that says this wherever an index may say something, and a topic file.
    fn files(said: &str) -> Vec<MemoryFile> {
        let index = format!(
            "# {said}\n\n- {said}: value\n  {said}\n\n{said}\n===\n- [{said}](a.md) {said}\n- `{said}` <name>\n\n```\n{said}\n```\n"
        );
        let topic = format!("## {said}\n\n{said}\n\n- {said}\n");
        let file = |file: String, text: String| MemoryFile {
            scope: Scope::Project,
            path: file.clone().into(),
            hash: Hash::of(&text),
            bytes: text.len() as u64,
            links: Vec::new(),
            leads: Vec::new(),
            is_linked: true,
            pages: parse(Scope::Project, &file, &text),
            secret_lines: BTreeSet::new(),
            file,
            text,
        };
        vec![file("MEMORY.md".into(), index), file(format!("{said}.md"), topic)]
    }

    /// All that the system prompt, or a note, may say of these files.
    fn told(said: &str) -> Vec<String> {
        let files = files(said);
        let pages: Vec<&Page> = files.iter().flat_map(|file| &file.pages).collect();
        let forms: Vec<Forms> = pages.iter().map(|page| Forms::of(page)).collect();
        let mut told = vec![capped_indexes(&files, u64::MAX, u64::MAX)];
        for fidelity in Fidelity::ALL {
            let shown = pages.iter().zip(&forms).map(|(page, forms)| ShownPages {
                page,
                fidelity,
                text: &forms.at(fidelity).text,
                stale: None,
            });
            told.push(super::pages(&shown.collect::<Vec<_>>(), &[]));
        }
        let changes = ToldPages::default().changes(&ToldPages::of(pages.into_iter()));
        told.extend(changes.iter().map(|change| change.note(said, 1)));
        told
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn memory_cannot_end_its_section_or_imitate_ours(said in hostile::texts()) {
            for text in told(&said) {
                let ours = |mark: &&str| mark.starts_with("Project (MEMORY.md)\n") || mark.starts_with("Memory change 1: ");
                let marks = hostile::marks(&text);
                prop_assert!(marks.len() == 1 && marks.iter().all(ours), "{:?} in {}", marks, text);
                prop_assert_eq!(hostile::hidden(&text), None);
            }
        }
    }

    #[test]
    fn ordinary_memory_stands_as_it_is_written() {
        let said = "Run `make <target>` for Vec<String>; é 漢字 👩‍👩‍👧 ❤️";
        for text in told(said) {
            assert!(!text.contains("\\u") && text.contains(said), "{text}");
        }
    }
}
