//! A moved file becomes another object: everything that the state holds about the old one passes to
//! the new one.

use std::collections::BTreeSet;

use super::{Effect, Session};
use crate::index::Subject;
use crate::message::Shows;
use crate::treatment::Treatment;
use base::object::{Hash, ObjectId};

impl Session {
    /// Replaces `from` with `to` everywhere in the state. `same`: the version of `to` whose text
    /// equals the latest known version of `from`.
    pub(super) fn move_object(&mut self, from: &ObjectId, to: &ObjectId, same: Option<&Hash>) {
        let Some(subject) = self.index.get(from).map(|entry| entry.subject.clone()) else { return };
        let path = subject.agent_path().to_owned();
        let Subject::File { version, .. } = subject else { return };
        let same = same.map(|now| (&version, now));
        let go_on = |object: &mut ObjectId, of: Option<&mut Hash>| {
            if object != from {
                return;
            }
            *object = to.clone();
            if let (Some(of), Some((was, now))) = (of, same)
                && of == was
            {
                *of = now.clone();
            }
        };
        let of_outputs = self.outputs.values_mut().map(|output| &mut output.shows);
        let all = self.chat.all_shows().chain(of_outputs).chain(self.index.all_shows());
        all.for_each(|shows| match shows {
            Shows::File { object, version, .. } => go_on(object, Some(version)),
            Shows::Activated { object, version, also, .. } => {
                go_on(object, Some(version));
                for one in also {
                    go_on(&mut one.object, Some(&mut one.version));
                }
            }
            Shows::Change { object } => go_on(object, None),
            Shows::Own => {}
        });
        for treatment in self.treatments.values_mut() {
            if let Treatment::Current { object, version, .. } = treatment {
                go_on(object, Some(version));
            }
        }
        for note in self.notes.by_place.values_mut().flatten() {
            if let Some(shown) = &mut note.shows {
                go_on(&mut shown.object, Some(&mut shown.version));
            }
        }
        for (_, effect) in &mut self.effects {
            match effect {
                Effect::Read(object, version) | Effect::Changed(object, version, _) => {
                    go_on(object, Some(version));
                }
                Effect::Activated(one) => go_on(&mut one.object, Some(&mut one.version)),
            }
        }
        if let Some(step) = self.edited.remove(from) {
            let known = self.edited.entry(to.clone()).or_insert(step);
            *known = step.max(*known);
        }
        self.notes.move_object(from, to);
        self.glimpses.move_object(from, to);
        self.files.move_object((from, &path), to, same);
        self.index.move_object(from, to, same.map(|(_, now)| now));
        self.sets.move_object(from, to, same);
        self.links.leave(from);
        let both = [from, to].into_iter();
        let shown = both.flat_map(|file| self.showings.of(file).chain(self.written.of(file)));
        for at in shown.map(|showing| showing.at).collect::<BTreeSet<u64>>() {
            self.show(at);
        }
    }
}
