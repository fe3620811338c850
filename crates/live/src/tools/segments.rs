//! What a name shows, including segments of the chat: known segments by handle or ID, and any run
//! of turns by its turns (`turn 3`, `turns 3-5`).

use super::activation::Shown;
use crate::LiveSession;
use crate::journal::Segment;
use base::error::{Error, Result};
use base::object::{HandleKind, Name, ObjectId, VersionSelector};
use context::forms;
use session::Subject;

impl LiveSession {
    /// As [`Self::subject`], for the object that a name refers to.
    pub(super) fn subject_named(
        &mut self,
        name: &Name,
        picks: bool,
    ) -> Result<Result<Shown, String>> {
        if let Some(segment) = self.segment_named(name)? {
            return self.segment_subject(segment, name.version).map(Ok);
        }
        let object = match self.find_object(name) {
            Err(Error::UnknownName { .. }) => {
                let other = match self.list_steps(name)? {
                    // A confined session may not see the disk.
                    None if self.state().is_confined() => None,
                    None => self.no_file(&name.text),
                    steps => steps,
                };
                return other.ok_or_else(|| self.unknown(&name.text)).map(Err);
            }
            object => object?,
        };
        if self.journal.is_forgotten(&object)? {
            return Err(Error::Forgotten { id: object });
        }
        Ok(match self.subject(&object, name.version, picks)? {
            Ok(subject) => Ok(Shown { name: subject.name + &self.overwritten(name)?, ..subject }),
            reason => reason,
        })
    }

    /// The words of a segment.
    fn segment_subject(&mut self, segment: Segment, version: VersionSelector) -> Result<Shown> {
        let Segment { object, version: known, handle, turns } = segment;
        if self.journal.is_forgotten(&object)? {
            return Err(Error::Forgotten { id: object });
        }
        let mut name = forms::turns_phrase(turns);
        let known = self.version_named(&object, version, &known, &mut name)?;
        let words = self.journal.words_of(&object, &known)?.unwrap_or_default();
        let outline = Some(words.outline(handle, turns));
        let text = words.text.into();
        let (part, default) = (None, Vec::new());
        Ok(Shown { object, version: known, handle, name, text, part, default, outline })
    }

    /// The segment that a name refers to; `None` if it refers to something else, or to nothing.
    ///
    /// # Errors
    /// Errors of the store.
    fn segment_named(&mut self, name: &Name) -> Result<Option<Segment>> {
        let index = self.state().index();
        let entry = match name.handle() {
            Some(handle) if handle.kind == HandleKind::ChatSegment => index.by_handle(handle),
            Some(_) => return Ok(None),
            None => index.get(&ObjectId::new(&*name.text)),
        };
        match entry.map(|entry| (&entry.subject, Segment::of(entry))) {
            Some((Subject::Segment { first, last, is_left: false, .. }, _)) => {
                let messages = *first..=*last;
                return self.journal.segment(messages, false).map(Some);
            }
            Some((_, left)) => return Ok(left),
            None => {}
        }
        let Some((first, last)) = self.messages_named(name) else { return Ok(None) };
        let found = match self.find_object(name) {
            Err(Error::UnknownName { .. }) => None,
            found => Some(found?),
        };
        let known = self.state().index().segment(first, last).map(|entry| &entry.id);
        if found.is_some() && found.as_ref() != known {
            return Ok(None);
        }
        self.journal.segment(first..=last, false).map(Some)
    }

    /// Positions of the first and the last message of the turns that a name refers to.
    pub(super) fn messages_named(&self, name: &Name) -> Option<(u64, u64)> {
        self.state().messages_of_turns(turns(&name.text)?)
    }
}

/// The first and the last turn that a text names.
fn turns(text: &str) -> Option<(u32, u32)> {
    let text = text.to_ascii_lowercase();
    let rest = text.strip_prefix("turn")?;
    let rest = rest.strip_prefix('s').unwrap_or(rest);
    let number = |text: &str| {
        let text = text.trim();
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|number| is_number && *number > 0)
    };
    let (first, last) = match rest.split_once(['-', '–']) {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(rest)?, number(rest)?),
    };
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_named_by_one_number_or_two() {
        for (text, expected) in [
            ("turn 3", Some((3, 3))),
            ("turns 3-5", Some((3, 5))),
            ("Turn 3 - 5", Some((3, 5))),
            ("turns 3–5", Some((3, 5))),
            ("turn3", Some((3, 3))),
            ("turn 0", None),
            ("turn 5-3", None),
            ("turn +3", None),
            ("turn 3-5-7", None),
            ("turns", None),
            ("turn.rs", None),
            ("return 3", None),
            ("turn 99999999999", None),
        ] {
            assert_eq!(turns(text), expected, "{text}");
        }
    }
}
