//! The heads of session files. A file of any program but Claude Code holds one session: what
//! followed a second head would be read as part of it. Must not know what messages say.

use super::lines::Line;
use super::{Format, gemini, neutral, opencode};

/// The first line that begins another session than the file's, or another than `wanted`, and what
/// is wrong with it.
pub(super) fn of_another(
    format: Format,
    lines: &[Line<'_>],
    wanted: Option<&str>,
) -> Option<(u64, String)> {
    let heads = lines.iter().filter_map(|line| Some((line, id_in(format, line)?)));
    let heads: Vec<(&Line<'_>, &str)> = heads.collect();
    let Some((first, id)) = heads.first() else {
        let problem = |wanted| format!("begins a session without an ID, and not `{wanted}`");
        return wanted.map(|wanted| (1, problem(wanted)));
    };
    if let Some(wanted) = wanted.filter(|wanted| wanted != id) {
        return Some((first.number, format!("begins the session `{id}`, and not `{wanted}`")));
    }
    // A rollout that goes on from others has their heads right behind its own.
    let own = if format == Format::Codex {
        lines.iter().take_while(|line| id_in(format, line).is_some()).count()
    } else {
        1
    };
    let (line, other) = heads.iter().skip(own).find(|(_, other)| other != id)?;
    let problem = format!("begins another session, `{other}`: each needs a file of its own");
    Some((line.number, problem))
}

/// The session's ID, if a line is a head.
fn id_in<'a>(format: Format, line: &'a Line<'_>) -> Option<&'a str> {
    let of = |key: &str, id: &str| line.object_at(key)?.get(id)?.as_str();
    let is = |kind: &str| line.text_at("type") == Some(kind);
    match format {
        Format::Neutral if neutral::knows(line) => of("session", "id"),
        Format::Pi if is("session") => line.text_at("id"),
        Format::Codex if is("session_meta") => of("payload", "id"),
        Format::Copilot if is("session.start") => of("data", "sessionId"),
        Format::Gemini if gemini::knows(line) => line.text_at("sessionId"),
        Format::OpenCode if opencode::knows(line) => {
            of("info", "id").or_else(|| line.text_at("id"))
        }
        _ => None,
    }
}
