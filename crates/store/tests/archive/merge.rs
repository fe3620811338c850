//! Two stores diverge and import each other's archives: both end with the same versions and the
//! same latest ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::object::{AsOf, ObjectId, ObjectType};
use proptest::prelude::*;
use store::{ArchiveScope, GcOptions};

use crate::world::World;

/// What happens in a store. Numbers are taken modulo what there is.
#[derive(Debug, Clone)]
enum Step {
    File(usize, u8),
    Toolcall(usize, u8),
    /// Events of the store's own session and, maybe, a change of its chat: one that both write to
    /// parts.
    Session {
        events: u8,
        chat: Option<(u64, u8)>,
    },
    /// The clock goes on, or back.
    Clock(i64),
    /// This store takes in all that the other has.
    Take,
    /// This store takes in one session of the other, or one object.
    TakeSession(usize),
    TakeFile(usize),
}

fn step() -> impl Strategy<Value = (bool, Step)> {
    let session = (1..4u8, prop::option::weighted(0.7, (0..12u64, 0..4u8)));
    let step = prop_oneof![
        4 => (0..3usize, any::<u8>()).prop_map(|(file, text)| Step::File(file, text % 4)),
        2 => (0..2usize, any::<u8>()).prop_map(|(call, text)| Step::Toolcall(call, text % 4)),
        8 => session.prop_map(|(events, chat)| Step::Session { events, chat }),
        2 => (-50..50i64).prop_map(Step::Clock),
        3 => Just(Step::Take),
        1 => (0..2usize).prop_map(Step::TakeSession),
        1 => (0..3usize).prop_map(Step::TakeFile),
    ];
    (any::<bool>(), step)
}

fn perform(here: &World, there: &World, own: usize, step: &Step, mark: usize) {
    let items = |what: &str, count: u8| -> Vec<String> {
        (0..count).map(|number| format!(r#"{{"{what}":"{mark}.{number}"}}"#)).collect()
    };
    match step {
        Step::File(file, text) => drop(here.file(&format!("/{file}"), &format!("text {text}\n"))),
        Step::Toolcall(call, text) => {
            let summary = format!("summary {text}");
            let _ = here.toolcall(&format!("call_{call}"), &format!("{text}"), Some(&summary));
        }
        Step::Session { events, chat } => {
            let chat = chat.map(|(keep, add)| (keep, items("message", add)));
            here.session(&format!("s{own}"), &items("event", *events), chat);
        }
        Step::Clock(by) => drop(here.clock.fetch_add(*by, Ordering::Relaxed)),
        Step::Take => take(here, there, ArchiveScope::Everything),
        Step::TakeSession(session) => {
            let id = ObjectId::session(&format!("s{session}"));
            if !there.store.history(&id).unwrap().is_empty() {
                take(here, there, ArchiveScope::Session(id));
            }
        }
        Step::TakeFile(file) => {
            let files = there.store.list(base::object::ObjectType::File, None, 9).unwrap();
            if let Some(version) = files.get(*file) {
                take(here, there, ArchiveScope::Object(version.envelope.id.clone()));
            }
        }
    }
}

fn take(here: &World, there: &World, scope: ArchiveScope) {
    let archive = there.export(scope);
    let imported = here.import(&archive);
    assert_eq!(imported.left_out, []);
    here.verify();
    let before = here.versions().len();
    let again = here.import(&archive);
    assert_eq!((again.versions, again.put_again), (0, 0), "the same archive once more: {again:?}");
    assert_eq!(here.versions().len(), before);
}

fn converge(a: &World, b: &World, past: &[Step], steps: &[(bool, Step)]) {
    for (mark, step) in past.iter().enumerate() {
        perform(a, b, mark % 2, step, mark);
    }
    take(b, a, ArchiveScope::Everything);
    for (mark, (is_here, step)) in (1_000..).zip(steps) {
        let (here, there) = if *is_here { (a, b) } else { (b, a) };
        perform(here, there, usize::from(*is_here), step, mark);
    }
    take(a, b, ArchiveScope::Everything);
    take(b, a, ArchiveScope::Everything);
    assert_eq!(a.portable(), b.portable());
    take(a, b, ArchiveScope::Everything);
    assert_eq!(a.latest(), b.latest());
    assert_eq!(a.beside(), b.beside());
}

proptest! {
    #![proptest_config(testing::cases::config(16, 1))]

    #[test]
    fn two_stores_that_take_in_each_other_hold_the_same(
        past in prop::collection::vec(step().prop_map(|(_, step)| step), 0..8),
        steps in prop::collection::vec(step(), 0..24),
    ) {
        converge(&World::in_memory(), &World::in_memory(), &past, &steps);
    }
}

proptest! {
    #![proptest_config(testing::cases::config(3, 1))]

    #[test]
    fn two_stores_in_files_that_take_in_each_other_hold_the_same(
        past in prop::collection::vec(step().prop_map(|(_, step)| step), 0..8),
        steps in prop::collection::vec(step(), 0..16),
    ) {
        converge(&World::in_sqlite(), &World::in_sqlite(), &past, &steps);
    }
}

#[test]
fn a_session_begun_anew_parts_from_the_one_that_was_dropped() {
    let (a, b) = (World::in_memory(), World::in_memory());
    let sessions = |world: &World| -> BTreeMap<ObjectId, Vec<String>> {
        let kept = world.store.list(ObjectType::Session, None, 9).unwrap().into_iter();
        let events = |id: &ObjectId| world.store.items(id, AsOf::Latest, 0..9).unwrap();
        kept.map(|session| (session.envelope.id.clone(), events(&session.envelope.id))).collect()
    };
    let event = |name: &str| [format!(r#"{{"{name}":1}}"#)];
    a.session("s", &event("old"), None);
    take(&b, &a, ArchiveScope::Everything);
    let options =
        GcOptions { dry_run: false, unused_for: Some(Duration::ZERO), ..GcOptions::default() };
    a.store.gc(options).unwrap();
    assert!(sessions(&a).is_empty());
    a.session("s", &event("new"), None);
    let exchange = || {
        for (here, there) in [(&b, &a), (&a, &b)] {
            let taken = here.import(&there.export(ArchiveScope::Everything));
            assert!(taken.left_out.iter().all(|it| it.reason == "parted"), "{taken:?}");
            here.verify();
        }
        [sessions(&a), sessions(&b)]
    };
    exchange();
    a.session("s", &event("more"), None);
    exchange();
    let known = exchange();
    assert_eq!(exchange(), known, "it does not grow");
    let [old, new, more] = ["old", "new", "more"].map(|name| event(name).concat());
    for sessions in known {
        let kept: BTreeSet<_> = sessions.into_values().collect();
        assert_eq!(kept, BTreeSet::from([vec![old.clone()], vec![new.clone(), more.clone()]]));
    }
}
