//! The answer of `activate` to a run of calls, written as in the line of folded steps: `t31-t44`.
//! Lists the steps, so that the next `activate` can name one call.
//!
//! Must not activate anything.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::naming::newest;
use crate::LiveSession;
use base::error::{Error, Result};
use base::object::{Handle, HandleKind, Name, VersionSelector};
use context::{deeds, forms};
use session::{ResultFact, Session, Shows};

/// Maximum number of steps that one answer lists.
const MAX_STEPS: usize = 60;

/// A run of calls, given by their numbers.
type Run = RangeInclusive<u32>;

impl LiveSession {
    /// The steps of a run of calls, one line each, and what to ask for next. `None` if the name is
    /// no run of handles.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a run of files, and for a version of a run.
    pub(super) fn list_steps(&self, name: &Name) -> Result<Option<String>> {
        let Some((kind, run)) = parse_run(&name.text) else { return Ok(None) };
        if kind != HandleKind::Toolcall {
            let activate = self.state().own_tool("activate");
            let problem =
                format!("`{}` names several objects: {activate} them one by one", name.text);
            return Err(Error::argument("name", problem));
        }
        if name.version != VersionSelector::Latest {
            let problem =
                format!("`{}` names several calls, which have versions of their own", name.text);
            return Err(Error::argument("name", problem));
        }
        Ok(Some(listing(self.state(), &run)))
    }
}

/// Whether a name is that of a run of calls.
pub(super) fn names_run(name: &Name) -> bool {
    parse_run(&name.text).is_some()
}

/// `t31-t44`, `t31-44`, `[t31-t44]`, `t31..t44`, in either order.
fn parse_run(text: &str) -> Option<(HandleKind, Run)> {
    let text = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let (first, last) = text.split_once("..").or_else(|| text.split_once(['-', '–']))?;
    let (first, last) = (first.trim(), last.trim());
    let from = Handle::parse(first)?;
    let to = Handle::parse(last).or_else(|| {
        let number = last.parse().ok().filter(|number| *number > 0)?;
        Some(Handle { kind: from.kind, number })
    })?;
    let run = from.number.min(to.number)..=from.number.max(to.number);
    (from.kind == to.kind).then_some((from.kind, run))
}

fn listing(session: &Session, run: &Run) -> String {
    let steps = steps(session, run);
    let listed: Vec<u32> = steps.values().flatten().map(|(handle, _)| handle.number).collect();
    let lines = steps.values().take(MAX_STEPS).map(|calls| {
        let calls = calls.iter().map(|(handle, fact)| call_words(session, *handle, fact));
        calls.collect::<Vec<_>>().join("; ")
    });
    let heading = forms::run_line(call(*run.start()), call(*run.end()), steps.len() as u64);
    let mut answer: Vec<String> = std::iter::once(heading).chain(lines).collect();
    answer.extend(unlisted(session, run, &listed));
    if let Some((handle, _)) = steps.values().nth(MAX_STEPS).and_then(|calls| calls.first()) {
        let more = forms::count((steps.len() - MAX_STEPS) as u64, "more step");
        answer.push(format!("`{handle}-{}` lists {more}.", call(*run.end())));
    }
    if !steps.is_empty() {
        answer.push(
            "Name one of these calls to see its output, with lines or a pattern to see a part."
                .to_owned(),
        );
    }
    answer.join("\n")
}

/// The calls of a run that the chat holds, with their results, by step.
fn steps<'s>(session: &'s Session, run: &Run) -> BTreeMap<u32, Vec<(Handle, &'s ResultFact)>> {
    let mut steps: BTreeMap<u32, Vec<(Handle, &ResultFact)>> = BTreeMap::new();
    for (at, message) in (0..).zip(&session.chat().messages) {
        let Some(fact) = session.result(at) else { continue };
        let handle = fact.object.as_ref().and_then(|object| session.handle(object));
        let is_in_run =
            |handle: &Handle| handle.kind == HandleKind::Toolcall && run.contains(&handle.number);
        if let Some(handle) = handle.filter(is_in_run) {
            steps.entry(message.step).or_default().push((handle, fact));
        }
    }
    steps
}

/// What is missing from the list of a run: calls of an abandoned branch or without a result, and
/// numbers that no call has.
fn unlisted(session: &Session, run: &Run, listed: &[u32]) -> Option<String> {
    let newest = newest(session, HandleKind::Toolcall).map_or(0, |handle| handle.number);
    let left: Vec<u32> =
        (*run.start()..=newest.min(*run.end())).filter(|number| !listed.contains(number)).collect();
    let mut words = Vec::new();
    if let (Some(first), Some(last)) = (left.first(), left.last()) {
        let which = if first == last {
            call(*first).to_string()
        } else {
            format!("{} of {}-{}", left.len(), call(*first), call(*last))
        };
        words.push(format!(
            "{which} had no result, or belong to a branch of the conversation that was left."
        ));
    }
    if *run.end() > newest {
        words.push(match newest {
            0 => "This session has no calls yet.".to_owned(),
            _ => format!("The newest call is {}.", call(newest)),
        });
    }
    (!words.is_empty()).then(|| words.join(" "))
}

/// `[t34] cargo test exit 101 · 412 lines`, `[t31] read f3 src/main.rs · lines 1-210`.
fn call_words(session: &Session, handle: Handle, fact: &ResultFact) -> String {
    let deed = deeds::deeds(session, std::iter::once(fact)).join(", ");
    let size = match &fact.shows {
        Shows::File { range, .. } => {
            format!(" · {}", forms::lines_phrase(&fact.counted(&[*range])))
        }
        Shows::Own if fact.counted_lines() > 1 => {
            format!(" · {}", forms::count(fact.counted_lines(), "line"))
        }
        _ => String::new(),
    };
    format!("[{handle}] {deed}{size}")
}

fn call(number: u32) -> Handle {
    Handle { kind: HandleKind::Toolcall, number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_given_as_fold_lines_name_it_or_nearly_so() {
        let run = |first, last| Some((HandleKind::Toolcall, first..=last));
        for text in
            ["t31-t44", "[t31-t44]", "t31-44", "t44-t31", "t31..t44", "t31 - t44", "t31–t44"]
        {
            assert_eq!(parse_run(text), run(31, 44), "{text}");
        }
        assert_eq!(parse_run("t7-t7"), run(7, 7));
        assert_eq!(parse_run("f3-f9"), Some((HandleKind::File, 3..=9)));
        for text in [
            "t31",
            "t31-f44",
            "t-4",
            "t31-",
            "t31-t0",
            "t31-0",
            "a-b",
            "src/t1-t2.rs",
            "deadbeef-1234",
        ] {
            assert_eq!(parse_run(text), None, "{text}");
        }
    }
}
