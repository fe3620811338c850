//! Messages of a transcript or a request, as parts of a request. Pure.

use std::collections::HashSet;

use super::message::{MeasuredMessage, MeasuredPiece, Speaker};
use super::needs::TranscriptNeeds;
use super::request::{RequestKinds, RequestPart};

impl RequestPart {
    /// A message of the transcript as it is.
    pub fn given(message: MeasuredMessage, needs: &TranscriptNeeds) -> Self {
        let mut kinds = RequestKinds::default();
        *kinds.of(message.speaker()) = message.units;
        Self::new(message, kinds, needs)
    }

    /// A message of the transcript with changed content. Lines of the given message keep their
    /// kind; all others count as reference.
    pub fn changed(
        message: MeasuredMessage,
        given: &MeasuredMessage,
        needs: &TranscriptNeeds,
    ) -> Self {
        let known: HashSet<&str> =
            given.pieces.iter().flat_map(|piece| piece.text.split('\n')).collect();
        let foreign: u64 = message
            .pieces
            .iter()
            .filter(|piece| !given.pieces.contains(piece))
            .map(|piece| foreign_units(piece, &known))
            .sum();
        let mut kinds = RequestKinds { reference: foreign, ..RequestKinds::default() };
        *kinds.of(message.speaker()) = message.units - foreign;
        Self::new(message, kinds, needs)
    }

    /// One of our own messages.
    pub fn ours(message: MeasuredMessage, needs: &TranscriptNeeds) -> Self {
        let kinds = RequestKinds { reference: message.units, ..RequestKinds::default() };
        Self::new(message, kinds, needs)
    }

    /// A message of which only the size is known, and which counts as no kind of content.
    pub(super) fn unseen(message: MeasuredMessage) -> Self {
        let (kinds, lines) = (RequestKinds::default(), Vec::new());
        Self { number: message.number(), message, kinds, lines }
    }

    fn new(message: MeasuredMessage, kinds: RequestKinds, needs: &TranscriptNeeds) -> Self {
        let lines = message.lines().filter_map(|line| needs.line(line)).collect();
        Self { number: message.number(), message, kinds, lines }
    }
}

impl RequestKinds {
    fn of(&mut self, speaker: Speaker) -> &mut u64 {
        match speaker {
            Speaker::Assistant => &mut self.assistant,
            Speaker::Tool => &mut self.output,
            Speaker::Other => &mut self.user,
        }
    }
}

/// Units of a piece's unknown lines, by their share of its bytes.
fn foreign_units(piece: &MeasuredPiece, known: &HashSet<&str>) -> u64 {
    let bytes = |line: &str| line.len() as u64 + 1;
    let all: u64 = piece.text.split('\n').map(bytes).sum();
    let foreign: u64 = piece.text.split('\n').filter(|line| !known.contains(line)).map(bytes).sum();
    piece.units * foreign / all
}
