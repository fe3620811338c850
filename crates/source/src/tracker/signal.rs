//! A watcher's signals, reduced to what a tracker needs. Must not look at the filesystem.

use std::path::PathBuf;

use notify::event::{AccessKind, AccessMode, CreateKind, Event, EventKind, ModifyKind, RenameMode};

/// What happened to a path, as far as the watcher knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// Something appeared there; it may still be empty.
    Appeared(PathBuf),
    /// Its bytes are changing; more writes may follow.
    Changed(PathBuf),
    /// Its bytes are complete: the writer closed it, or a complete file took the place.
    Written(PathBuf),
    /// Its owner, mode or times changed.
    Metadata(PathBuf),
    /// It is gone.
    Gone(PathBuf),
    /// The first path was renamed to the second. Comes in addition to the signals of both paths.
    Renamed(PathBuf, PathBuf),
    /// Events were lost: anything may have changed.
    Overflow,
    /// Watching failed: the reason in words.
    Failed(String),
}

/// Converts an event of the watcher's library.
pub(super) fn signals(event: notify::Result<Event>) -> Vec<Signal> {
    match event {
        Ok(event) if event.need_rescan() => vec![Signal::Overflow],
        Ok(event) => of_event(event),
        Err(error) => vec![Signal::Failed(error.to_string())],
    }
}

fn of_event(event: Event) -> Vec<Signal> {
    let kind = event.kind;
    let mut paths = event.paths.into_iter();
    if kind == EventKind::Modify(ModifyKind::Name(RenameMode::Both)) {
        let renamed = paths.next().zip(paths.next());
        return renamed.map(|(from, to)| Signal::Renamed(from, to)).into_iter().collect();
    }
    let signal: fn(PathBuf) -> Signal = match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => Signal::Written,
        EventKind::Access(_) | EventKind::Other => return Vec::new(),
        EventKind::Create(CreateKind::Folder | CreateKind::File | CreateKind::Any) => {
            Signal::Appeared
        }
        EventKind::Modify(ModifyKind::Metadata(_)) => Signal::Metadata,
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) | EventKind::Remove(_) => {
            Signal::Gone
        }
        EventKind::Create(_) | EventKind::Modify(_) | EventKind::Any => Signal::Changed,
    };
    paths.map(signal).collect()
}

#[cfg(test)]
mod tests {
    use notify::event::{DataChange, Flag, MetadataKind, RemoveKind};

    use super::*;

    #[test]
    fn every_kind_of_event_becomes_what_it_means() {
        let a = || PathBuf::from("/a");
        for (kind, expected) in [
            (EventKind::Create(CreateKind::File), Some(Signal::Appeared(a()))),
            (EventKind::Modify(ModifyKind::Data(DataChange::Any)), Some(Signal::Changed(a()))),
            (EventKind::Access(AccessKind::Close(AccessMode::Write)), Some(Signal::Written(a()))),
            (EventKind::Access(AccessKind::Open(AccessMode::Any)), None),
            (EventKind::Modify(ModifyKind::Name(RenameMode::To)), Some(Signal::Written(a()))),
            (EventKind::Modify(ModifyKind::Name(RenameMode::From)), Some(Signal::Gone(a()))),
            (EventKind::Modify(ModifyKind::Name(RenameMode::Any)), Some(Signal::Changed(a()))),
            (
                EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)),
                Some(Signal::Metadata(a())),
            ),
            (EventKind::Remove(RemoveKind::Folder), Some(Signal::Gone(a()))),
            (EventKind::Any, Some(Signal::Changed(a()))),
            (EventKind::Other, None),
        ] {
            let found = signals(Ok(Event::new(kind).add_path(a())));
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{kind:?}");
        }
    }

    #[test]
    fn a_rename_names_both_ends_and_lost_events_are_an_overflow() {
        let both = EventKind::Modify(ModifyKind::Name(RenameMode::Both));
        let event = Event::new(both).add_path("/a".into()).add_path("/b".into());
        assert_eq!(signals(Ok(event)), [Signal::Renamed("/a".into(), "/b".into())]);
        let lost = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(signals(Ok(lost)), [Signal::Overflow]);
        let failed = signals(Err(notify::Error::generic("broken")));
        assert_eq!(failed, [Signal::Failed("broken".into())]);
    }
}
