//! Whether the window has room for content that a tool would bring in. Must not decide what leaves
//! it.

use std::collections::HashSet;

use crate::LiveSession;
use base::error::{Error, Result};
use base::object::ObjectId;
use config::Layout;
use context::held::Budgets;
use context::ledger;
use context::log_layout::Texts;
use context::pools_layout::active_block;
use context::view::{self, Slot, user_message};
use context::window::Marks;
use session::{MessageKind, Note, SlotRecord, Treatment, Why};

impl LiveSession {
    /// Refuses content for which the window has no room besides what cannot leave: people's words,
    /// pinned content and the messages since the newest call. All else makes room, the idlest first.
    ///
    /// `besides`: tokens of the other answers of a call that names several objects. `pinned`: the
    /// object, if it is to be pinned.
    pub(super) fn require_room(
        &self,
        name: &str,
        tokens: u64,
        besides: Option<u64>,
        pinned: Option<&ObjectId>,
    ) -> Result<()> {
        let state = self.state();
        let Some(marks) = self.marks() else { return Ok(()) };
        let pins = state.sets().held.iter().filter(|held| held.why == Why::Pinned);
        let pins: u64 =
            pins.filter(|held| Some(&held.object) != pinned).map(|held| held.tokens).sum();
        let by_people = state.window().filter(|(_, message)| message.kind == MessageKind::User);
        let by_people: u64 = by_people.map(|(_, message)| message.tokens).sum();
        let most = match self.options.settings.layout {
            Layout::Log => marks.most,
            Layout::Pools => marks.high,
        };
        let mut room = most.saturating_sub(by_people + pins + state.coming_tokens());
        if pinned.is_some() {
            room = room.min(Budgets::of(Some(&marks), 0).pins.saturating_sub(pins));
        }
        room = room.saturating_sub(besides.unwrap_or(0));
        if tokens <= room {
            return Ok(());
        }
        Err(Error::NoRoom { name: name.to_owned(), tokens, room })
    }

    /// The window marks of the newest call, for its messages.
    fn marks(&self) -> Option<Marks> {
        let state = self.state();
        let window = state.sent()?.context_window?;
        let bill = &state.bill().last.as_ref()?.bill;
        let filling = self.options.filling(state);
        Some(ledger::marks(window, bill.factor, filling).without(bill.fixed))
    }

    /// Tokens of the messages and notes that hold an object's content, as last sent.
    pub(super) fn standing_tokens(&self, object: &ObjectId) -> u64 {
        let showings: HashSet<u64> =
            self.state().showings(object).map(|showing| showing.at).collect();
        let stands = |at: u64| {
            let own = self.state().result(at).and_then(|fact| fact.object.as_ref()) == Some(object);
            let collapsed = *self.state().treatment(at) == Treatment::Reference;
            showings.contains(&at) || (own && !collapsed)
        };
        let holds = |record: &SlotRecord| match record {
            SlotRecord::Chat { chat, .. } => {
                self.options.settings.layout == Layout::Log && stands(*chat)
            }
            SlotRecord::Active { active, .. } => active == object,
            SlotRecord::Pool { .. } | SlotRecord::Message { .. } => false,
        };
        let held = self.request.last_sent().filter(|(record, _)| holds(record));
        let held =
            held.map(|(record, tokens)| tokens.unwrap_or_else(|| self.recorded_tokens(record)));
        let state = self.state();
        let shows = |note: &&Note| note.shows.as_ref().is_some_and(|it| it.object == *object);
        let noted = state.noted().filter(|at| !stands(*at)).flat_map(|at| state.notes(at));
        let noted = noted.filter(shows).map(|note| self.options.counter.count(&note.text));
        held.sum::<u64>() + noted.sum::<u64>()
    }

    /// Tokens of a message in a request that an earlier run of this program made.
    fn recorded_tokens(&self, record: &SlotRecord) -> u64 {
        match record {
            SlotRecord::Chat { chat, content: None, .. } => {
                self.state().chat().get(*chat).map_or(0, |message| message.tokens)
            }
            SlotRecord::Chat { content: Some(content), .. } => {
                view::content_tokens(content, self.options.counter)
            }
            SlotRecord::Active { active, version, ranges, time } => {
                let text = self.journal.text(active, version);
                text.map_or(0, |text| {
                    let message = user_message(&active_block(active, &text, ranges), *time);
                    Slot::of_ours(record.clone(), message, self.options.counter).tokens
                })
            }
            SlotRecord::Pool { .. } | SlotRecord::Message { .. } => 0,
        }
    }
}
