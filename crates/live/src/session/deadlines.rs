//! How long a session waits for disks and other processes, and which places do not answer.

use files::looks;
use std::time::Duration;

use super::LiveSession;
use crate::Notice;
use files::looks::Bounded;

impl LiveSession {
    /// How long a call waits for others before it is given up.
    pub fn deadline(&self) -> Duration {
        self.options.settings.deadline()
    }

    /// Gives looks at files a deadline while the result lives.
    pub(crate) fn bounded(&self) -> Bounded {
        looks::bounded(self.options.look_deadline())
    }

    /// Records which places do not answer, and which do again.
    pub(super) fn hear_of_silence(&mut self) {
        let silent = looks::silent_places();
        let before = std::mem::replace(&mut self.silent, silent);
        let fell = self.silent.iter().filter(|place| !before.contains(place));
        let fell = fell.map(|place| Notice::Silent { place: place.display().to_string() });
        let came = before.iter().filter(|place| !self.silent.contains(place));
        let came = came.map(|place| Notice::Answers { place: place.display().to_string() });
        self.waiting.extend(fell.chain(came));
    }
}
