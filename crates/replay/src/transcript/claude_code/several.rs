//! Files into which several sessions were put, one behind another. A session that goes on under
//! another ID is one. Must not know what messages say.

use std::collections::HashMap;

use super::{is_message, node_of};
use crate::transcript::lines::Line;
use crate::transcript::path::Parent;

/// Whether a text names several sessions: only then it may hold several.
pub(in crate::transcript) fn names_several(text: &str) -> bool {
    let mut named = text.split("\"sessionId\":").skip(1);
    let first = named.next().and_then(quoted);
    named.any(|rest| quoted(rest) != first)
}

fn quoted(text: &str) -> Option<&str> {
    text.split('"').nth(1)
}

/// The sessions of a file by their IDs, in order.
pub(in crate::transcript) fn sessions(lines: &[Line<'_>]) -> Vec<String> {
    let (names, of) = groups(lines);
    let has_messages = |group: usize| {
        lines.iter().zip(&of).any(|(line, of)| *of == Some(group) && is_message(line))
    };
    let held = names.iter().enumerate().filter(|(group, _)| has_messages(*group));
    held.map(|(_, name)| (*name).to_owned()).collect()
}

/// The lines of one session; none if the file does not hold it.
pub(in crate::transcript) fn of_session<'a>(lines: Vec<Line<'a>>, id: &str) -> Vec<Line<'a>> {
    let (names, of) = groups(&lines);
    let wanted = names.iter().position(|name| *name == id);
    let is_wanted: Vec<bool> = of.iter().map(|of| of.is_some() && *of == wanted).collect();
    lines.into_iter().zip(is_wanted).filter(|(_, is)| *is).map(|(line, _)| line).collect()
}

/// The ID with which each session began, and the session of each line that names one.
fn groups<'a>(lines: &'a [Line<'_>]) -> (Vec<&'a str>, Vec<Option<usize>>) {
    let mut names: Vec<&str> = Vec::new();
    let (mut by_line, mut by_session) = (HashMap::new(), HashMap::new());
    let mut last = None;
    let of = lines.iter().map(|line| {
        let session = line.text_at("sessionId")?;
        let parent = match node_of(line).parent {
            Parent::Id(id) => by_line.get(id).copied().or(last),
            Parent::None => None,
            _ => last,
        };
        let group = parent.unwrap_or_else(|| {
            *by_session.entry(session).or_insert_with(|| {
                names.push(session);
                names.len() - 1
            })
        });
        by_session.entry(session).or_insert(group);
        if let Some(id) = line.text_at("uuid") {
            by_line.entry(id).or_insert(group);
        }
        last = Some(group);
        last
    });
    let of = of.collect();
    (names, of)
}
