//! The layout `log`: every message stays where it appeared, with the content that its treatment
//! prescribes.
//!
//! Pure: texts come in through [`Texts`]. Changes only outputs, except that a user message can
//! get notes at its head and lines of folded steps at its end.

use std::borrow::Cow;
use std::sync::Arc;

use super::content::{Images, text_block, with_text};
use super::excerpt::{self, NamedLines};
use super::forms;
use super::host::HostMessage;
use base::error::{Error, Result};
use base::object::{Hash, ObjectId, quote};
use session::{
    Cut, LineRange, MessageKind, Note, Numbering, Piece, ReadPart, ResultFact, Session, Shows,
    Subject, Treatment, counted,
};

/// The host's own text for a result of images only.
const IMAGE_PLACEHOLDER: &str = "(see attached image)";

/// Supplies the texts of object versions.
pub trait Texts {
    /// Text of an object's version with this `content_hash`. For a call whose output the host cut,
    /// also the whole output by its SHA-256.
    fn text(&self, object: &ObjectId, version: &Hash) -> Result<Arc<str>>;

    /// Whether a file's version says that the file is deleted.
    fn is_deleted(&self, _file: &ObjectId, _version: &Hash) -> bool {
        false
    }

    /// JSON of an image in a toolcall's version, by its number, from 1.
    fn image(&self, object: &ObjectId, version: &Hash, number: usize) -> Result<String>;
}

/// Renders the content of the message at a position. `None` if it goes out as the host gave it,
/// which a message that must not be stored always does.
pub fn render(
    session: &Session,
    at: u64,
    message: &HostMessage,
    texts: &dyn Texts,
) -> Result<Option<String>> {
    if session.chat().get(at).is_some_and(|known| known.withheld) {
        return Ok(None);
    }
    let treated = match session.result(at) {
        Some(fact) => render_result(session, at, fact, message, texts)?,
        None => None,
    };
    let notes = session.notes(at);
    // Notes of a message that the host sent itself stand before it.
    if notes.is_empty() || session.is_kept(at) {
        return Ok(treated);
    }
    Ok(Some(with_notes(treated.as_deref(), notes, message)))
}

/// The lines of folded steps appended to the message at a position as its last block.
pub fn fold_lines(session: &Session, at: u64) -> Option<String> {
    let is_user = session.chat().get(at).is_some_and(|m| matches!(m.kind, MessageKind::User));
    if is_user { session.folds().lines(at) } else { None }
}

/// The reference line of a tool result, without its label.
pub fn reference_line(session: &Session, fact: &ResultFact) -> Option<String> {
    let result = fact.object.as_ref().and_then(|id| session.handle(id));
    match &fact.shows {
        Shows::File { object, range, .. } => {
            let (handle, path) = session.shown_file(object)?;
            Some(forms::showing_line(result, handle, path, &fact.counted(&[*range])))
        }
        Shows::Activated { object, version, ranges, also, .. } if also.is_empty() => {
            let entry = session.index().of_version(object, version)?;
            Some(match &entry.subject {
                file @ Subject::File { .. } => {
                    let path = session.shown_path(file.agent_path());
                    forms::showing_line(None, entry.handle, path, &fact.counted(ranges))
                }
                Subject::Toolcall { .. } => forms::output_line(entry.handle, fact),
                Subject::Segment { turns, .. } => forms::segment_line(entry.handle, *turns, ranges),
            })
        }
        Shows::Activated { object, version, ranges, also, .. } => {
            let shown = also.iter().map(|one| (&one.object, &one.version, &one.ranges));
            let lines = std::iter::once((object, version, ranges)).chain(shown);
            let lines = lines.map(|(object, version, ranges)| {
                let entry = session.index().of_version(object, version)?;
                let name = forms::name_of(session, &entry.subject);
                Some(forms::showing_line(None, entry.handle, &name, ranges))
            });
            lines.collect::<Option<Vec<String>>>().map(|lines| lines.join("\n"))
        }
        Shows::Own | Shows::Change { .. } => {
            Some(forms::named_output_line(result?, fact, name_of(session, fact)))
        }
    }
}

/// What an output is called that no call of the model's says what it is of.
fn name_of<'a>(session: &'a Session, fact: &ResultFact) -> Option<&'a str> {
    let is_told = fact.within.is_none() || fact.exit.is_some();
    let entry = session.index().get(fact.object.as_ref().filter(|_| !is_told)?)?;
    match &entry.subject {
        Subject::Toolcall { tool, .. } => Some(tool),
        Subject::File { .. } | Subject::Segment { .. } => None,
    }
}

/// Lines of a text and their total as people count them.
pub fn counted_of(text: &str, ranges: &[LineRange]) -> (Vec<LineRange>, u64) {
    let lines = text.split('\n').count() as u64;
    let ends_line = text.ends_with('\n');
    let is_last = ranges.last().is_some_and(|range| range.last == lines);
    let shown = counted(ranges, ends_line && is_last);
    // The empty line behind the last line end counts where nothing else is shown.
    let last = shown.last().map_or(0, |range| range.last);
    (shown, last.max(lines - u64::from(ends_line)))
}

/// Lines of a text, joined by line feeds. Lines beyond its end are omitted.
pub fn lines_of(text: &str, range: LineRange) -> String {
    let skip = usize::try_from(range.first.saturating_sub(1)).unwrap_or(usize::MAX);
    let take = usize::try_from(range.len()).unwrap_or(usize::MAX);
    text.split('\n').skip(skip).take(take).collect::<Vec<_>>().join("\n")
}

/// Lines of a text under a heading. Omitted lines between ranges are counted.
pub fn headed_lines(heading: &str, text: &str, ranges: &[LineRange]) -> String {
    let mut shown = vec![heading.to_owned()];
    let mut next = None;
    for range in ranges {
        if let Some(gap) = next.filter(|next| *next < range.first) {
            shown.push(forms::gap_line(range.first - gap));
        }
        shown.push(lines_of(text, *range));
        next = Some(range.last + 1);
    }
    shown.join("\n")
}

fn render_result(
    session: &Session,
    at: u64,
    fact: &ResultFact,
    message: &HostMessage,
    texts: &dyn Texts,
) -> Result<Option<String>> {
    let text = match session.treatment(at) {
        // The host has it in other words.
        Treatment::Given if session.is_shown_in_part(at) => message.output(fact).into_owned(),
        Treatment::Given => return Ok(None),
        Treatment::Reference => {
            let line = reference_line(session, fact).ok_or_else(|| {
                Error::internal(format!("message {at} is collapsed but has no reference line"))
            })?;
            line + session.label(at)
        }
        Treatment::Excerpt { pieces } => {
            excerpt_text(session, fact, &message.output(fact), pieces)?
        }
        Treatment::Reread { parts } => {
            let shown = message.output(fact);
            match &fact.shows {
                Shows::Activated { object, version, ranges, .. } => {
                    let text = texts.text(object, version)?;
                    let asked = Asked { fact, object, ranges, text: &text };
                    render_activated_again(session, &asked, parts, &shown)?
                }
                _ => reread_text(session, fact, &shown, parts)?,
            }
        }
        Treatment::Current { object, version, ranges, after_host } => {
            let host = if *after_host { Some(message.output(fact)) } else { None };
            match texts.text(object, version) {
                Ok(text) => render_current(session, object, &text, ranges, host)?,
                // The text is gone for good; the reference line says what was here.
                Err(Error::Forgotten { .. }) => match reference_line(session, fact) {
                    Some(line) => line,
                    None => return Ok(None),
                },
                Err(error) => return Err(error),
            }
        }
    };
    if let Some(within) = &fact.within {
        return Ok(Some(message.content_with_part(within, &text)));
    }
    let is_gone = *session.treatment(at) == Treatment::Reference && fact.images > 0;
    let images = if is_gone { Images::Leave } else { Images::Stay };
    Ok(Some(with_text(message.content(), &text, images)))
}

/// The text of a partly shown result.
///
/// # Errors
/// `INTERNAL` if the object of the result has no handle.
pub fn excerpt_text(
    session: &Session,
    fact: &ResultFact,
    text: &str,
    pieces: &[Piece],
) -> Result<String> {
    let line =
        |at: u64, there: LineRange, quote: Option<&str>| standing_line(session, at, there, quote);
    let named = named_lines(session, fact).or_else(|| {
        let handle = fact.object.as_ref().and_then(|id| session.handle(id))?;
        Some(NamedLines { handle, numbering: Numbering::default() })
    });
    let named = named.ok_or_else(|| Error::internal("an excerpt of what has no handle"))?;
    excerpt::render(text, pieces, named, &line)
}

/// How to name the lines of a result that shows a file or a part of an output: by their place in
/// the file or the whole output. `None` if it shows all of its own text.
fn named_lines(session: &Session, fact: &ResultFact) -> Option<NamedLines> {
    if let Some(cut) = &fact.cut {
        let handle = session.handle(fact.object.as_ref()?)?;
        return Some(NamedLines { handle, numbering: cut.numbering() });
    }
    let Shows::File { object, range, .. } = &fact.shows else { return None };
    Some(NamedLines {
        handle: session.handle(object)?,
        numbering: Numbering::after(range.first - 1),
    })
}

/// The line that says where lines of an excerpt stand: in the file that a message shows, or in its
/// output.
fn standing_line(
    session: &Session,
    at: u64,
    there: LineRange,
    quote: Option<&str>,
) -> Option<String> {
    // A result that shows an activated object has no handle of its own.
    let fact = session.result(at)?;
    let result = fact.object.as_ref().and_then(|object| session.handle(object));
    let showing = session.showing_as(at, session.treatment(at));
    if let Some(showing) = showing {
        return Some(forms::as_in_line(session.handle(&showing.object)?, there, result, quote));
    }
    let numbering = fact.cut.as_ref().map(Cut::numbering).unwrap_or_default();
    Some(forms::as_in_line(result?, numbering.place(there), None, quote))
}

/// The text of a read of lines of a file that partly stand in the window already. `shown`: its own.
///
/// # Errors
/// `INTERNAL` if the result shows no lines of a file, or the file has no handle.
pub fn reread_text(
    session: &Session,
    fact: &ResultFact,
    shown: &str,
    parts: &[ReadPart],
) -> Result<String> {
    let Shows::File { object, range, .. } = &fact.shows else {
        return Err(Error::internal("a reread that shows no lines of an object"));
    };
    let mut blocks = Vec::new();
    for part in parts {
        if part.stands_at.is_none() {
            let shift = range.first - 1;
            let here = LineRange { first: part.range.first - shift, last: part.range.last - shift };
            blocks.push(lines_of(shown, here));
        } else {
            let is_end = fact.ends_line && part.range.last == range.last;
            blocks.push(place_line(session, object, part, is_end)?);
        }
    }
    let after = shown.split('\n').skip(usize::try_from(range.len()).unwrap_or(usize::MAX));
    blocks.extend(after.map(str::to_owned));
    Ok(blocks.join("\n"))
}

/// An activation of lines of an object.
struct Asked<'a> {
    fact: &'a ResultFact,
    object: &'a ObjectId,
    ranges: &'a [LineRange],
    text: &'a str,
}

/// The heading, if some lines are shown here, and each part.
fn render_activated_again(
    session: &Session,
    asked: &Asked<'_>,
    parts: &[ReadPart],
    shown: &str,
) -> Result<String> {
    let Asked { fact, object, ranges, text } = *asked;
    let mut blocks = Vec::new();
    let shows_any = parts.iter().any(|part| part.stands_at.is_none());
    blocks.extend(shown.split('\n').next().filter(|_| shows_any).map(str::to_owned));
    let end = ranges.last().map(|range| range.last);
    let mut next = None;
    for part in parts {
        if let Some(gap) = next.filter(|next| shows_any && *next < part.range.first) {
            blocks.push(forms::gap_line(part.range.first - gap));
        }
        next = Some(part.range.last + 1);
        blocks.push(if part.stands_at.is_none() {
            lines_of(text, part.range)
        } else {
            let is_end = fact.ends_line && Some(part.range.last) == end;
            place_line(session, object, part, is_end)?
        });
    }
    Ok(blocks.join("\n"))
}

/// The line that says where a part stands. `is_end`: whether its last line is the empty one that
/// nobody counts.
fn place_line(
    session: &Session,
    object: &ObjectId,
    part: &ReadPart,
    is_end: bool,
) -> Result<String> {
    let handle = session.handle(object);
    let handle = handle.ok_or_else(|| Error::internal("a reread of an unknown object"))?;
    let lines = counted(&[part.range], is_end).first().map_or(part.range, |lines| *lines);
    let at = part.stands_at.unwrap_or_default();
    let is_noted = session.noted_texts().any(|(place, noted)| {
        place == at
            && noted.object == *object
            && noted.ranges.iter().any(|range| range.intersect(part.range).is_some())
    });
    let is_shown = session.showing_as(at, session.treatment(at)).is_some_and(|showing| {
        showing.object == *object
            && showing.ranges.iter().any(|range| range.intersect(part.range).is_some())
    });
    if is_noted && !is_shown {
        return Ok(forms::standing_in_note_line(handle, lines));
    }
    let above = session.result(at);
    let tool = above.map_or("read", |fact| fact.tool.as_str());
    let result = above.and_then(|fact| session.handle(fact.object.as_ref()?));
    Ok(forms::standing_line(handle, lines, tool, result))
}

fn render_current(
    session: &Session,
    object: &ObjectId,
    text: &str,
    ranges: &[LineRange],
    host: Option<Cow<'_, str>>,
) -> Result<String> {
    let (handle, path) = session
        .shown_file(object)
        .ok_or_else(|| Error::internal("current text of an unknown file"))?;
    let (shown, lines) = counted_of(text, ranges);
    let heading = forms::activated_line(handle, &quote::name(path), &shown, lines);
    let current = headed_lines(&heading, text, ranges);
    Ok(host.map_or(current.clone(), |host| format!("{host}\n\n{current}")))
}

/// Adds notes: after the blocks of a tool result, before those of a user message.
fn with_notes(content: Option<&str>, notes: &[Note], message: &HostMessage) -> String {
    let notes: Vec<String> = notes.iter().map(|note| text_block(&note.text)).collect();
    let notes = notes.join(",");
    let blocks = message.blocks(content);
    if message.key.role != "toolResult" {
        return if blocks.is_empty() {
            format!("[{notes}]")
        } else {
            format!("[{notes},{blocks}]")
        };
    }
    if blocks.is_empty() {
        return format!("[{notes}]");
    }
    if message.texts.is_empty() {
        return format!("[{},{blocks},{notes}]", text_block(IMAGE_PLACEHOLDER));
    }
    format!("[{blocks},{notes}]")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use session::merge_ranges;

    use super::*;

    proptest! {
        #[test]
        fn no_line_has_a_number_above_the_count(
            text in "(a?\n){0,4}a?",
            (first, lines) in (1..5u64, 1..3u64),
            beside in prop::option::of(Just(LineRange { first: 1, last: 1 })),
        ) {
            let all = text.split('\n').count() as u64;
            let shown = LineRange { first: first.min(all), last: (first + lines - 1).min(all) };
            let ranges = merge_ranges(&beside.into_iter().chain([shown]).collect::<Vec<_>>());
            let (counted, lines) = counted_of(&text, &ranges);
            prop_assert!(counted.last().is_none_or(|range| range.last <= lines));
        }
    }
}
