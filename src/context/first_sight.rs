//! How a tool result is shown when the model first sees it (`log`): a pure decision.
//!
//! What was sent stays sent until the epoch ends, so this is the one moment to spare what already stands in the window.

use serde_json::Value;

use super::preview;
use crate::object::{Hash, ObjectId};
use crate::session::{LineRange, Part, ResultFact, Session, Showing, Shows, Treatment};

/// Words at the head of a shell command that asks for certain lines: their output is never previewed.
const LINE_PICKERS: [&str; 9] =
    ["sed", "head", "tail", "grep", "egrep", "rg", "awk", "ag", "git grep"];

/// Decides how the result at position `at` of the chat is shown.
///
/// `text` and `text_tokens`: of its text. `args`: arguments of its call. `preview_tokens`: outputs above are previewed; 0
/// turns previews off.
pub fn decide(
    session: &Session,
    at: u64,
    fact: &ResultFact,
    text: &str,
    text_tokens: u64,
    args: &Value,
    preview_tokens: u64,
) -> Treatment {
    if repeats_right_away(session, at, fact) {
        return Treatment::Given;
    }
    match &fact.shows {
        Shows::File { object, version, range } => {
            let above = session.showings(object).filter(|showing| showing.at != at);
            as_parts(split_read((object, version, *range), above))
        }
        Shows::Own if fact.plain && may_be_previewed(fact, args) => {
            preview::plan(text, text_tokens, preview_tokens).unwrap_or(Treatment::Given)
        }
        _ => Treatment::Given,
    }
}

/// Splits the lines of a read into those that stand above, by `standing`, and those to show.
pub fn split_read<'a>(
    (object, version, range): (&ObjectId, &Hash, LineRange),
    standing: impl Iterator<Item = &'a Showing>,
) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut missing = vec![range];
    for showing in standing {
        if showing.object != *object || showing.version != *version {
            continue;
        }
        for shown in &showing.ranges {
            let found = missing.iter().filter_map(|range| range.intersect(*shown));
            parts.extend(found.map(|range| Part { range, stands_at: Some(showing.at) }));
            missing = missing.iter().flat_map(|range| range.without(&[*shown])).collect();
        }
    }
    parts.extend(missing.into_iter().map(|range| Part { range, stands_at: None }));
    parts.sort_by_key(|part| part.range);
    parts
}

/// How a read is shown whose lines are split so.
pub fn as_parts(parts: Vec<Part>) -> Treatment {
    if parts.iter().all(|part| part.stands_at.is_none()) {
        return Treatment::Given;
    }
    Treatment::Reread { parts }
}

/// An identical request in this step or the one before always gets its content again: the model insists.
fn repeats_right_away(session: &Session, at: u64, fact: &ResultFact) -> bool {
    let Some(step) = session.chat().get(at).map(|message| message.step) else { return false };
    session.window().rev().take_while(|(_, message)| message.step + 1 >= step).any(|(other, _)| {
        other < at && session.result(other).is_some_and(|earlier| earlier.request == fact.request)
    })
}

fn may_be_previewed(fact: &ResultFact, args: &Value) -> bool {
    if matches!(fact.tool.as_str(), "read" | "grep" | "edit" | "write") {
        return false;
    }
    let command = args.get("command").and_then(Value::as_str).unwrap_or_default();
    let last = command
        .rsplit(['|', ';', '&', '\n'])
        .find(|part| !part.trim().is_empty())
        .unwrap_or_default()
        .trim();
    !LINE_PICKERS.iter().any(|picker| {
        last.strip_prefix(picker)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_that_pick_lines_are_not_previewed() {
        let fact = ResultFact::for_tests("t");
        for (command, expected) in [
            ("cargo test", true),
            ("cargo test 2>&1 | tail -n 400", false),
            ("sed -n '1,900p' a.rs", false),
            ("cd x && grep -n foo a", false),
            ("cat big.log", true),
            ("headless --run", true),
        ] {
            assert_eq!(
                may_be_previewed(&fact, &json!({ "command": command })),
                expected,
                "{command}"
            );
        }
    }
}
