//! Decides how a tool result is shown when the model first sees it (`log`). Pure.
//!
//! A message stays as it was sent until the epoch ends, so this is the moment to leave out what the
//! window already shows.

use serde_json::Value;

use super::epoch::SMALL_TOKENS;
use super::excerpt::rendered_tokens;
use super::lines_index::{LineBlock, MIN_BLOCK_LINES};
use super::preview;
use super::standing::standing;
use super::tokens::Counter;
use base::harness::{Call, ToolKind};
use base::object::{Hash, ObjectId};
use session::{LineRange, Piece, ReadPart, ResultFact, Session, Shows, Treatment};

/// Least number of adjacent lines, about a screen, left out of what the model asked for because
/// they stand already. Fewer would save less than the model loses by reading a text in two places.
const MIN_LINES_ASKED_FOR: usize = 20;

/// A tool result that the model has not seen yet.
#[derive(Debug, Clone, Copy)]
pub struct FirstOutput<'a> {
    /// Its position in the chat.
    pub at: u64,
    /// What it is.
    pub fact: &'a ResultFact,
    /// Its text.
    pub text: &'a str,
    /// The text's tokens.
    pub tokens: u64,
    /// How they are counted.
    pub counter: Counter,
    /// Arguments of its call.
    pub args: &'a Value,
    /// What the model wrote in the message with the call, including arguments.
    pub said: &'a str,
}

/// Which outputs are previewed.
#[derive(Debug, Clone, Copy)]
pub struct Previews {
    /// Those with more tokens than this; 0: none.
    pub tokens: u64,
    /// Whether they include files shown by a read tool.
    pub reads: bool,
}

/// Decides how a tool result is shown.
///
/// `standing`: its blocks that the window already shows, see [`block_lines`].
pub fn decide(
    session: &Session,
    output: &FirstOutput<'_>,
    standing: &[LineBlock],
    previews: Previews,
) -> Treatment {
    let fact = output.fact;
    if repeats_right_away(session, output.at, fact) {
        return Treatment::Given;
    }
    match &fact.shows {
        Shows::File { object, version, range } => {
            let above = above(session, output.at, object, version);
            match as_parts(split_read(*range, &above)) {
                Treatment::Given if fact.is_output => file_in_part(output, *range, previews),
                treatment => treatment,
            }
        }
        // What shows parts of lines or several objects is shown as it is.
        Shows::Activated { object, version, ranges, cut, also }
            if cut.is_empty() && also.is_empty() && may_name(session, output) =>
        {
            as_parts(split_activated(ranges, &above(session, output.at, object, version)))
        }
        Shows::Own if fact.is_output && fact.object.is_some() => {
            in_part(output, standing, previews)
        }
        _ => Treatment::Given,
    }
}

/// Least number of lines in a block that can be left out because it stands already. `None` if the
/// whole text must be shown, or if the result does not show its own text.
pub fn block_lines(session: &Session, output: &FirstOutput<'_>) -> Option<usize> {
    let fact = output.fact;
    if fact.shows != Shows::Own
        || !fact.is_output
        || fact.object.is_none()
        || repeats_right_away(session, output.at, fact)
    {
        return None;
    }
    let call = Call::new(&fact.tool, output.args);
    let kind = call.kind();
    if kind == ToolKind::Edit && !fact.ok {
        // Help after a failed edit is meant to be copied.
        return None;
    }
    let asked_for = call.picks_lines() || preview::is_asked_for(kind);
    Some(if asked_for { MIN_LINES_ASKED_FOR } else { MIN_BLOCK_LINES })
}

/// The standing blocks of a result without what a run says about failures, which is shown each
/// time.
pub fn without_failures(
    output: &FirstOutput<'_>,
    min_lines: usize,
    blocks: Vec<LineBlock>,
) -> Vec<LineBlock> {
    let call = Call::new(&output.fact.tool, output.args);
    if blocks.is_empty() || !call.reports_run() {
        return blocks;
    }
    let lines: Vec<&str> = output.text.split('\n').collect();
    let reports = preview::reports(&lines);
    let is_of_failure = |at: usize| reports[at].is_of_failure();
    let left = |block: &LineBlock| block.without(&lines, min_lines, output.counter, is_of_failure);
    blocks.iter().flat_map(left).collect()
}

/// Leaves out the lines that stand elsewhere, and previews the rest if there are too many.
fn in_part(output: &FirstOutput<'_>, standing: &[LineBlock], previews: Previews) -> Treatment {
    match preview_pieces(output, standing, previews) {
        Some(pieces) => Treatment::Excerpt { pieces },
        None if standing.is_empty() => Treatment::Given,
        None => {
            let pieces = preview::without_standing(output.fact.lines, standing);
            Treatment::Excerpt { pieces }
        }
    }
}

/// Previews the lines `range` of a file. A notice may follow them; it is not a line of the file and
/// is always shown.
fn file_in_part(output: &FirstOutput<'_>, range: LineRange, previews: Previews) -> Treatment {
    let is_of_file =
        |piece: &Piece| matches!(piece, Piece::Shown { .. }) || piece.lines().last <= range.len();
    match preview_pieces(output, &[], previews) {
        Some(pieces) if pieces.iter().all(is_of_file) => Treatment::Excerpt { pieces },
        _ => Treatment::Given,
    }
}

/// The pieces of a preview. `None` if the model asked for these lines, or if there are too few to
/// leave some out.
fn preview_pieces(
    output: &FirstOutput<'_>,
    standing: &[LineBlock],
    previews: Previews,
) -> Option<Vec<Piece>> {
    let call = Call::new(&output.fact.tool, output.args);
    let kind = call.kind();
    // A command that shows lines of a file is a read of it.
    let is_read = kind == ToolKind::Read || matches!(output.fact.shows, Shows::File { .. });
    // Another agent's report is already a summary; nobody has what it left out.
    let is_asked_for = call.picks_lines()
        || matches!(kind, ToolKind::Write | ToolKind::Edit | ToolKind::Delegate)
        || (is_read && !previews.reads);
    if is_asked_for {
        return None;
    }
    let (text, tokens, said) = (output.text, output.tokens, output.said);
    let lines = output.fact.counted_lines();
    let planned = preview::PreviewedOutput { text, tokens, kind, said, lines, standing };
    let pieces = preview::plan(&planned, previews.tokens)?;
    let whole = tokens - standing.iter().map(|block| block.tokens).sum::<u64>().min(tokens);
    // A preview that saves less than a quarter is not worth the risk of a second look.
    (rendered_tokens(text, &pieces, output.counter) * 4 <= whole * 3).then_some(pieces)
}

/// Whether an activation of what stands may be answered by where it stands: what it shows is as the
/// session knows it, so that its heading says nothing else, and the answer is shorter. Another pin
/// brings nothing in any case.
fn may_name(session: &Session, output: &FirstOutput<'_>) -> bool {
    let Shows::Activated { object, version, .. } = &output.fact.shows else { return false };
    let is_as_known =
        session.version(object) == Some(version) && session.files().orphaned(object).is_none();
    let saves = output.tokens > SMALL_TOKENS || output.fact.tool == session.own_tool("pin");
    is_as_known && saves && output.fact.images == 0
}

/// Where lines of an object stand before a result: the position of each message, and the lines.
fn above(session: &Session, at: u64, object: &ObjectId, version: &Hash) -> Vec<(u64, LineRange)> {
    let mut above: Vec<_> = session.standing_places(object, version).collect();
    for (place, _) in session.shown_window().take_while(|(place, _)| *place < at) {
        let is_own = |fact: &ResultFact| fact.object.as_ref() == Some(object);
        if session.result(place).is_some_and(is_own)
            && let Some(own) = standing(session, place, session.treatment(place))
            && (&own.object, &own.version) == (object, version)
        {
            above.extend(own.ranges.iter().map(|range| (place, *range)));
        }
    }
    above.retain(|(place, _)| *place < at);
    above
}

/// As [`split_read`], for the lines that an activation shows: those of the same object belong
/// together, so a short run stands above only if all of them do.
pub fn split_activated(ranges: &[LineRange], places: &[(u64, LineRange)]) -> Vec<ReadPart> {
    let split: Vec<Vec<ReadPart>> = ranges.iter().map(|range| split_read(*range, places)).collect();
    let is_shown = |part: &ReadPart| part.stands_at.is_none();
    if !split.iter().flatten().any(is_shown) {
        return split.concat();
    }
    let is_short = |part: &ReadPart| part.range.len() < MIN_LINES_ASKED_FOR as u64;
    let shown =
        |part: ReadPart| if is_short(&part) { ReadPart { stands_at: None, ..part } } else { part };
    split.into_iter().flatten().map(shown).collect()
}

/// Splits the lines of a read into those that stand above, according to `places`, and those to
/// show. If some are shown, only a screen or more of adjacent lines counts as standing; a statement
/// is not torn apart for less.
///
/// `places`: where lines of the same version stand.
pub fn split_read(range: LineRange, places: &[(u64, LineRange)]) -> Vec<ReadPart> {
    let mut parts = Vec::new();
    let mut missing = vec![range];
    while let Some((at, found)) = longest_piece(places, &missing) {
        if found.len() < MIN_LINES_ASKED_FOR as u64 && found != range {
            break;
        }
        parts.push(ReadPart { range: found, stands_at: Some(at) });
        missing = missing.iter().flat_map(|range| range.without(&[found])).collect();
    }
    parts.extend(missing.into_iter().map(|range| ReadPart { range, stands_at: None }));
    parts.sort_by_key(|part| part.range);
    parts
}

/// The longest run of missing lines that stands at one place, and the place; the first if several
/// are equally long.
fn longest_piece(places: &[(u64, LineRange)], missing: &[LineRange]) -> Option<(u64, LineRange)> {
    let found = places.iter().flat_map(|(at, shown)| {
        missing.iter().filter_map(|range| Some((*at, range.intersect(*shown)?)))
    });
    found.reduce(|best, next| if next.1.len() > best.1.len() { next } else { best })
}

/// The treatment of a read with these parts.
pub fn as_parts(parts: Vec<ReadPart>) -> Treatment {
    if parts.iter().all(|part| part.stands_at.is_none()) {
        return Treatment::Given;
    }
    Treatment::Reread { parts }
}

/// Whether the same request was made in this step or the previous one. The model insists, so it
/// gets the content again.
fn repeats_right_away(session: &Session, at: u64, fact: &ResultFact) -> bool {
    // The treatment of a result that the host shows itself is decided before its message arrives.
    let known = session.chat().get(at).or_else(|| session.chat().messages.last());
    let Some(step) = known.map(|message| message.step) else { return false };
    session.window().rev().take_while(|(_, message)| message.step + 1 >= step).any(|(other, _)| {
        let is_same = |earlier: &ResultFact| {
            // What a person ran, the model has not asked for.
            earlier.request == fact.request && earlier.within.is_some() == fact.within.is_some()
        };
        other < at && session.result(other).is_some_and(is_same)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn log(lines: u64) -> String {
        (1..=lines).map(|n| format!("line {n} of the log")).collect::<Vec<_>>().join("\n")
    }

    fn shown(tool: &str, args: &Value, text: &str, standing: &[LineBlock]) -> Treatment {
        shown_with(Previews { tokens: 1_000, reads: false }, tool, args, text, standing)
    }

    fn shown_with(
        previews: Previews,
        tool: &str,
        args: &Value,
        text: &str,
        standing: &[LineBlock],
    ) -> Treatment {
        let mut fact = crate::bash_result("t");
        fact.tool = tool.to_owned();
        fact.lines = text.split('\n').count() as u64;
        let output = FirstOutput {
            at: 0,
            fact: &fact,
            text,
            tokens: Counter::Bundled.count(text),
            counter: Counter::Bundled,
            args,
            said: "",
        };
        decide(&Session::default(), &output, standing, previews)
    }

    #[test]
    fn calls_that_ask_for_lines_are_not_previewed() {
        for (command, expected) in [
            ("cargo test", true),
            ("cargo test 2>&1 | tail -n 400", false),
            ("sed -n '1,900p' a.rs", false),
            ("cd x && grep -n foo a", false),
            ("cat big.log", false),
            ("headless --run", true),
        ] {
            let treatment = shown("bash", &json!({ "command": command }), &log(500), &[]);
            assert_eq!(treatment != Treatment::Given, expected, "{command}");
        }
        assert_eq!(shown("grep", &json!({ "pattern": "x" }), &log(500), &[]), Treatment::Given);
    }

    #[test]
    fn the_report_of_another_agent_is_shown_whole() {
        let task = json!({ "prompt": "Find out where sessions are closed." });
        for tool in ["Task", "Agent", "subagent", "sessions_spawn"] {
            assert_eq!(shown(tool, &task, &log(2_000), &[]), Treatment::Given, "{tool}");
        }
        assert_ne!(shown("ask_wiki", &task, &log(2_000), &[]), Treatment::Given);
    }

    #[test]
    fn a_read_file_is_whole_unless_settings_ask_for_a_preview() {
        let whole = json!({ "file_path": "a" });
        let part = json!({ "file_path": "a", "offset": 1 });
        for (tool, args) in [("Read", &whole), ("read_file", &json!({ "absolute_path": "/a" }))] {
            assert_eq!(shown(tool, args, &log(9_000), &[]), Treatment::Given, "{tool}");
        }
        let asked = Previews { tokens: 1_000, reads: true };
        assert_ne!(shown_with(asked, "Read", &whole, &log(1_500), &[]), Treatment::Given);
        assert_eq!(shown_with(asked, "Read", &part, &log(1_500), &[]), Treatment::Given);
        let none = Previews { tokens: 0, reads: true };
        assert_eq!(shown_with(none, "Read", &whole, &log(9_000), &[]), Treatment::Given);
    }

    #[test]
    fn lines_already_shown_do_not_count_towards_a_preview() {
        let text = log(500);
        let lines = LineRange { first: 41, last: 500 };
        let block = LineBlock { lines, at: 7, first: 3, tokens: 3_000 };
        let treatment = shown("bash", &json!({ "command": "make" }), &text, &[block]);
        let pieces = vec![
            Piece::Shown { shown: LineRange { first: 1, last: 40 } },
            Piece::Standing { standing: lines, at: 7, first: 3 },
        ];
        assert_eq!(treatment, Treatment::Excerpt { pieces });
    }
}
