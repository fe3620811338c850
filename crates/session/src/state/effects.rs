//! What tool calls did, from when they ran until their results come in. Must not read results: the
//! events say what they show.

use super::Session;
use crate::event::Cause;
use crate::message::{Activation, MessageKind, Shows};
use base::object::{Hash, ObjectId};

/// What a tool call did, recorded when it ran. Its result arrives with the host's next list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// It read a version of a file.
    Read(ObjectId, Hash),
    /// It changed a file in this way, and made a version.
    Changed(ObjectId, Hash, Cause),
    /// It activated lines of a version of an object.
    Activated(Activation),
}

impl Session {
    /// Removes the effect that a result shows, so that no other result claims it.
    pub(super) fn use_effect(&mut self, at: u64) {
        let Some(message) = self.chat.get(at) else { return };
        let (Some(call), MessageKind::Result(fact)) = (message.key.calls.first(), &message.kind)
        else {
            return;
        };
        let is_shown = |effect: &Effect| match (effect, &fact.shows) {
            (Effect::Read(file, read), Shows::File { object, version, .. }) => {
                file == object && read == version
            }
            (Effect::Changed(file, ..), Shows::Change { object }) => file == object,
            (Effect::Activated(activated), Shows::Activated { object, version, ranges, .. }) => {
                activated.object == *object
                    && activated.version == *version
                    && activated.ranges == *ranges
            }
            _ => false,
        };
        let place = self.effects.iter().position(|(id, effect)| id == call && is_shown(effect));
        let Some(place) = place else { return };
        let (_, effect) = self.effects.remove(place);
        if let (Effect::Changed(file, version, cause), Some(toolcall)) = (&effect, &fact.object) {
            self.files.made_by(toolcall, file, (version.clone(), *cause));
        }
        if let Shows::Activated { also, .. } = &fact.shows {
            let is_also = |effect: &Effect| matches!(effect, Effect::Activated(activated) if also.contains(activated));
            self.effects.retain(|(id, effect)| id != call || !is_also(effect));
        }
        self.come_in(&effect);
    }

    /// Text of a file comes in that a call read or wrote. The file may have changed since, and been
    /// looked at, as where the session was resumed in the midst of a turn.
    fn come_in(&mut self, effect: &Effect) {
        let (Effect::Read(file, version) | Effect::Changed(file, version, Cause::Written)) = effect
        else {
            return;
        };
        let mut others = self.effects.iter().map(|(_, effect)| effect);
        let changed = others.any(|it| matches!(it, Effect::Changed(other, ..) if other == file));
        if !changed && !self.stands(file) {
            self.files.come_in(file, version);
        }
    }
}
