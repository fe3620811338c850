//! Answers a host that wants to compact. Pure.
//!
//! A host judges by its own list or by the newest request's usage. What counts is the next request
//! as it would go out.

use serde::Serialize;

use super::excerpt::{self, NamedLines};
use super::forms::turns_phrase;
use base::object::{Handle, quote};
use session::{LineRange, Numbering, Piece, join_pieces};

/// How many calls in a row a host is told not to compact while it sees no request that leaves the
/// model room.
const MOST_IN_VAIN: u32 = 3;

/// Most characters of the person's words in a summary, and most characters of one message.
const SAID_CHARS: usize = 16_000;
const MESSAGE_CHARS: usize = 4_000;
/// Characters that must be left for one more message.
const LEAST_SAID_CHARS: usize = 200;
/// Most characters of deeds in a summary.
const DEEDS_CHARS: usize = 4_000;

/// The beginning of each of our summaries.
const OPENING: &str = "Earlier messages left this conversation's list, because it was too long. \
    All of them are kept word for word:";

/// Why a host compacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The person asked for it.
    Manual,
    /// Its list, or the newest request, is near the size of the window.
    Threshold,
    /// The provider refused a request as too long, or cut an answer short.
    Overflow,
}

/// What a host says about the compaction that it is about to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostCompaction {
    /// Why.
    pub reason: Reason,
    /// Whether it makes the newest call again afterwards.
    pub retries: bool,
    /// Index in its list of the first message that would stay.
    pub kept_from: usize,
    /// Tokens of the window that it keeps free; `None` if unstated.
    pub reserved: Option<u64>,
}

/// What the host should do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "action", content = "summary", rename_all = "lowercase")]
pub enum CompactionAnswer {
    /// Compact as it would without us.
    Host,
    /// Not compact: the next request leaves the model room to answer.
    Cancel,
    /// Compact with this summary instead of its own.
    Summary(String),
}

/// The compactions cancelled in a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cancelled {
    /// Number of the newest call at the last cancellation.
    call: u64,
    /// Calls with a provider's report by then.
    reports: u64,
    /// Calls since the host last saw a request that was small enough.
    in_vain: u32,
}

impl Cancelled {
    /// Adds one more cancellation; `None` if that would not help. Cancelling does not help if calls
    /// went out after earlier cancellations and either no provider reported their size, or they left
    /// the model little room.
    ///
    /// `call`: number of the newest call. `reports`: calls with a provider's report. `is_small`:
    /// whether the newest request left the model room.
    #[must_use]
    pub fn with(self, call: u64, reports: u64, is_small: bool) -> Option<Self> {
        let has_heard = reports > self.reports && is_small;
        let in_vain = match self {
            before if before.in_vain == 0 || has_heard => 1,
            before if call > before.call => before.in_vain + 1,
            before => before.in_vain,
        };
        (in_vain <= MOST_IN_VAIN).then_some(Self { call, reports, in_vain })
    }
}

/// What left the list, as material for a summary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leaves {
    /// A line for each segment, with its handle.
    pub segments: Vec<String>,
    /// What the calls did, in our words.
    pub deeds: Vec<String>,
    /// What the person wrote, oldest first.
    pub said: Vec<Said>,
    /// The host's newest summary among what left.
    pub summary: Option<String>,
    /// The model's last words, if the next message answers them.
    pub answer: Option<String>,
    /// The name of our tool that shows it again.
    pub activate: String,
}

/// What our tool does with these handles. `activate`: its name.
fn ways(activate: &str) -> String {
    format!(
        "`{activate}` with one of these handles lists what was said; `{activate}` with turns, as `turns 1-2`, \
         brings some of it back. Handles of files and outputs, such as f1 or t1, work as before."
    )
}

/// What somebody said, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The turn.
    pub turn: u32,
    /// The words.
    pub text: String,
    /// The segment that holds them, and the lines before them there.
    pub place: (Handle, u64),
}

/// Whether a summary is one of ours.
pub fn is_ours(summary: &str) -> bool {
    summary.starts_with(OPENING)
}

/// A summary that no model wrote: where to find what left, what was done, and what the person
/// wrote, the first and the newest of it where that is much.
///
/// `window`: tokens of the model's window. A small window gets a short summary.
pub fn summary(leaves: &Leaves, window: Option<u64>) -> String {
    told(OPENING, leaves, window)
}

/// The first message of a session that continues another one, as a summary. `harness`: where the
/// other session ran.
pub fn continuation(harness: &str, leaves: &Leaves, window: Option<u64>) -> String {
    let opening = format!(
        "This conversation was begun in {}. All of it is kept word for word:",
        quote::name(harness)
    );
    told(&opening, leaves, window)
}

fn told(opening: &str, leaves: &Leaves, window: Option<u64>) -> String {
    let most =
        window.map_or(usize::MAX, |window| usize::try_from(window / 2).unwrap_or(usize::MAX));
    let ways = ways(&leaves.activate);
    let mut parts = vec![format!("{opening}\n{}\n{ways}", leaves.segments.join("\n"))];
    if let Some(summary) = &leaves.summary {
        parts.push(format!("The summary of what came before them:\n{}", beginning(summary, most)));
    }
    if !leaves.deeds.is_empty() {
        let deeds = beginning(&leaves.deeds.join(", "), DEEDS_CHARS.min(most / 4));
        parts.push(format!("What was done: {deeds}"));
    }
    let said = said_lines(&leaves.said, SAID_CHARS.min(most));
    if !said.is_empty() {
        parts.push(format!("What the user wrote, oldest first:\n{}", said.join("\n")));
    }
    if let Some(answer) = &leaves.answer {
        parts.push(format!("The last answer:\n{}", beginning(answer, MESSAGE_CHARS.min(most))));
    }
    parts.join("\n\n")
}

/// What the person wrote, in order. Where it is too much, the first message, which sets the task,
/// and the newest ones, of which the older get less; a line names the turns of those in between.
fn said_lines(said: &[Said], most: usize) -> Vec<String> {
    let line = |said: &Said, text: &str| format!("turn {}: {text}", said.turn.max(1));
    let size = |text: &String| text.chars().count();
    let whole = said.iter().map(|said| both_ends(said, MESSAGE_CHARS.min(most)));
    let whole: Vec<String> = whole.collect();
    let Some((first, later)) = said.split_first() else { return Vec::new() };
    if whole.iter().map(size).sum::<usize>() <= most {
        return said.iter().zip(&whole).map(|(said, text)| line(said, text)).collect();
    }
    let task = both_ends(first, MESSAGE_CHARS.min(most / 4));
    let mut left = most.saturating_sub(size(&task));
    let mut newest = Vec::new();
    for said in later.iter().rev() {
        let text = both_ends(said, MESSAGE_CHARS.min(left / 2));
        if left < LEAST_SAID_CHARS || size(&text) > left {
            break;
        }
        left -= size(&text);
        newest.push(line(said, &text));
    }
    let missing = &later[..later.len() - newest.len()];
    let missing = missing.first().zip(missing.last());
    let missing = missing.map(|(from, to)| format!("… {} …", turns_phrase((from.turn, to.turn))));
    [line(first, &task)].into_iter().chain(missing).chain(newest.into_iter().rev()).collect()
}

/// What somebody said, if long its beginning and its end, where what is asked for often stands;
/// quoted for a summary. What lies between is named.
fn both_ends(said: &Said, most: usize) -> String {
    let text = quote::block(said.text.trim_end());
    if text.chars().count() <= most {
        return text.trim_start().to_owned();
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let fitting = |lines: &mut dyn Iterator<Item = &&str>, most: usize| {
        let mut left = most;
        let fits = |line: &&&str| {
            let length = line.chars().count().min(most) + 1;
            let fits = length <= left;
            left = left.saturating_sub(length);
            fits
        };
        (lines.take_while(fits).count() as u64).max(1)
    };
    // The end is what matters more.
    let tail_chars = most / 3 * 2;
    let (all, tail) = (lines.len() as u64, fitting(&mut lines.iter().rev(), tail_chars));
    let head = fitting(&mut lines.iter(), most - tail_chars).min(all - tail);
    let range = |first, last| LineRange { first, last };
    let ends = |ends, chars: usize| Piece::Ends { ends, chars: chars as u64 };
    let pieces = join_pieces([
        ends(range(1, head), most - tail_chars),
        Piece::Between { between: range(head + 1, all - tail), of: None },
        ends(range(all - tail + 1, all), if head == 0 { most } else { tail_chars }),
    ]);
    let (handle, before) = said.place;
    let named = NamedLines { handle, numbering: Numbering::after(before) };
    excerpt::render(&text, &pieces, named, &|_, _, _| None).unwrap_or_default()
}

/// The beginning of a text, quoted for a summary.
fn beginning(text: &str, most: usize) -> String {
    let mut characters = text.trim().chars();
    let mut shown: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    quote::block(&shown).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_small_requests_may_compact_after_some_calls() {
        for (reported, is_small) in [(0, true), (1, false)] {
            let mut cancelled = Cancelled::default();
            for call in [4, 4, 5, 6] {
                cancelled = cancelled.with(call, reported * call, is_small).expect("it helps yet");
            }
            assert_eq!(cancelled.with(7, reported * 7, is_small), None);
            assert!(cancelled.with(7, 7, true).is_some(), "it heard of one");
        }
    }

    #[test]
    fn a_host_with_small_requests_never_compacts_what_fits() {
        let mut cancelled = Cancelled::default();
        for call in 1..50 {
            cancelled = cancelled.with(call, call, true).expect("it helps");
        }
    }

    #[test]
    fn a_summary_has_the_task_and_the_newest_of_what_was_said() {
        let said = |turn, text: String| Said { turn, text, place: (handle("s1"), 9) };
        let said = vec![
            said(1, "the task".to_owned()),
            said(2, "a".repeat(9_000)),
            said(3, "a".repeat(9_000)),
            said(4, "a".repeat(9_000)),
            said(5, "a".repeat(9_000)),
            said(6, "a".repeat(9_000)),
            said(7, format!("{}z", "b".repeat(9_000))),
            said(8, "last".to_owned()),
        ];
        let segments = vec!["[s1] turns 1-3 in full · 9 messages".to_owned()];
        let leaves = Leaves {
            segments,
            said,
            summary: Some("before".into()),
            deeds: vec!["make ok".into()],
            answer: None,
            activate: "activate".into(),
        };
        let text = summary(&leaves, Some(8_200));
        assert!(is_ours(&text));
        assert!(text.contains("\n[s1] turns 1-3 in full · 9 messages\n"), "{text}");
        assert!(text.contains("\n\nThe summary of what came before them:\nbefore\n\n"), "{text}");
        assert!(text.contains("\n\nWhat was done: make ok\n\n"), "{text}");
        let starts =
            "\n\nWhat the user wrote, oldest first:\nturn 1: the task\n… turns 2-3 …\nturn 4: aaa";
        assert!(text.contains(starts), "{text}");
        let (head, tail) = ("b".repeat(1_022), format!("{}z", "b".repeat(1_021)));
        let cut = "… 6,957 characters between (s1:10:1023-7979) …";
        assert!(text.ends_with(&format!("\nturn 7: {head} {cut} {tail}\nturn 8: last")), "{text}");
        assert!(text.chars().count() < 5_000, "{text}");
        // Where all have room, each stands.
        let all = summary(&leaves, None);
        assert!(!all.contains("turns 2-3 …"), "{all}");
    }

    fn handle(name: &str) -> Handle {
        Handle::parse(name).unwrap()
    }

    #[test]
    fn a_long_message_is_told_by_its_beginning_and_its_end() {
        let log: Vec<String> = (1..=700).map(|n| format!("line {n} of the log")).collect();
        let text = format!("Here is the log:\n{}\nPlease fix it.\n\n", log.join("\n"));
        let shown = both_ends(&Said { turn: 1, text, place: (handle("s3"), 1) }, 400);
        let (head, rest) = shown.split_once(" lines between (s3:9-").unwrap();
        assert!(head.starts_with("Here is the log:\nline 1 of the log\n"), "{shown}");
        assert!(head.ends_with("line 6 of the log\n… 682"), "{shown}");
        assert!(rest.starts_with("690) …\nline 689 of the log\n"), "{shown}");
        assert!(rest.ends_with("\nline 700 of the log\nPlease fix it."), "{shown}");
        // A line that is long itself is cut at both ends, wherever it stands.
        let paragraph = format!("{}.", "more detail ".repeat(500));
        let texts = [
            format!("{paragraph}\nDo it."),
            format!("Do it:\n{paragraph}"),
            format!("{paragraph}\n{paragraph}"),
        ];
        for text in texts {
            let end: String = text.chars().skip(text.chars().count() - 12).collect();
            let shown = both_ends(&Said { turn: 1, text, place: (handle("s3"), 1) }, 400);
            assert!(shown.ends_with(&end), "{shown}");
            assert!(shown.contains(" characters between (s3:"), "{shown}");
            assert!(shown.chars().count() < 600, "{shown}");
        }
    }
}
