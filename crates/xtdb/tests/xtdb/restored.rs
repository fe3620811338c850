//! A server that is put back from a backup, or loses everything: what it acknowledged comes back
//! from whoever has it, in order and once, and people are told.

use std::collections::{BTreeMap, BTreeSet};

use base::object::{AsOf, ObjectId, ObjectType};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use store::{ForgetOptions, Store};
use testing::cases;
use testing::xtdb::Database;
use xtdb::{Restored, Sharing};

use crate::machine::{Machine, everything, options, shared, versions};
use crate::sharing::run_session;

fn restored(machine: &Machine) -> Option<Restored> {
    machine.sharing.status().unwrap().restored
}

/// That all of these stores have the same versions of files, and the same latest ones.
fn assert_alike(stores: &[&Store]) {
    let first = everything(stores[0], ObjectType::File);
    for store in &stores[1..] {
        assert_eq!(everything(store, ObjectType::File), first);
    }
}

#[test]
fn a_store_put_back_from_a_copy_knows_that_it_lacks_its_own() {
    let Some(database) = Database::new() else { return };
    let one = Machine::at(&database.url());
    one.write("/p/a.txt", "one");
    one.push();
    let copy = one.folder.path().join("copy.sqlite");
    one.store.backup(&copy).unwrap();
    one.write("/p/a.txt", "two");
    one.push();
    let store = Store::open(copy.to_str().unwrap()).unwrap();
    let sharing = Sharing::new(store, options(&database.url()));
    let behind = || {
        let machines = sharing.machines().unwrap();
        (sharing.look().unwrap().behind, machines[0].behind)
    };
    assert_eq!(behind(), (Some(1), 1));
    assert_eq!(sharing.pull(&mut |_| Ok(())).unwrap().versions, 1);
    assert_eq!(behind(), (Some(0), 0));
}

#[test]
fn what_a_restored_server_lost_is_sent_again_once() {
    let Some(database) = Database::new() else { return };
    let [one, other] = [Machine::at(&database.url()), Machine::at(&database.url())];
    let kept = one.write("/p/kept.txt", "kept");
    one.push();
    other.pull();
    database.save(0);
    one.write("/p/kept.txt", "changed");
    one.write("/p/new.txt", "new");
    assert_eq!(one.push().versions, 2);
    database.put_back(0);

    // Before anything is sent, somebody who asks is told; also by a store opened read-only.
    let asked = one.sharing.look().unwrap();
    let noticed = asked.restored.as_ref().unwrap_or_else(|| panic!("{asked:?}"));
    assert_eq!((noticed.is_other, noticed.versions, noticed.done), (false, 0, None));
    assert_eq!(asked.behind, None, "what is there is not known yet");

    let pushed = one.push();

    assert_eq!((pushed.versions, pushed.again), (2, 2));
    let told = restored(&one).unwrap();
    assert_eq!((told.is_other, told.versions), (false, 2));
    assert!(told.done.is_some());
    assert_eq!(one.push().versions, 0);
    assert_eq!(restored(&one).unwrap(), told, "told once");
    other.pull();
    assert_eq!(other.text(&kept).as_deref(), Some("changed"));
    let there = shared(&database.url());
    assert_alike(&[&one.store, &other.store, &there]);
    assert_eq!(there.history(&kept).unwrap().len(), 2, "each version once");
}

#[test]
fn a_restored_log_that_went_on_hides_nothing() {
    let Some(database) = Database::new() else { return };
    let [one, other, third] = [(); 3].map(|()| Machine::at(&database.url()));
    one.write("/p/a.txt", "first");
    one.push();
    drop([&other, &third].map(Machine::pull));
    database.save(0);
    for number in 0..3 {
        one.write(&format!("/p/{number}.txt"), "lost");
        one.push();
    }
    other.pull();
    database.put_back(0);
    // A third, who saw nothing of what was lost, takes all its numbers, and more.
    for number in 0..6 {
        third.write(&format!("/p/of-third-{number}.txt"), "later");
        third.push();
    }
    assert_eq!(restored(&third), None, "it lost nothing");

    for machine in [&other, &one, &third] {
        machine.push();
        machine.pull();
    }
    for machine in [&other, &one, &third] {
        machine.pull();
    }

    assert!(restored(&one).is_some() && restored(&other).is_some());
    assert_alike(&[&one.store, &other.store, &third.store, &shared(&database.url())]);
}

#[test]
fn who_fetched_it_brings_back_what_its_writer_cannot() {
    let Some(database) = Database::new() else { return };
    let [gone, other] = [Machine::at(&database.url()), Machine::at(&database.url())];
    other.write("/p/a.txt", "mine");
    other.push();
    database.save(0);
    let id = gone.write("/p/b.txt", "its writer never comes back");
    gone.push();
    other.pull();
    other.push();
    database.put_back(0);

    other.push();

    let there = shared(&database.url());
    assert_eq!(there.history(&id).unwrap().len(), 1);
    assert_alike(&[&other.store, &there]);
}

#[test]
fn a_loss_is_noticed_by_what_was_taken_alone() {
    let Some(database) = Database::new() else { return };
    let [one, reader] = [Machine::at(&database.url()), Machine::at(&database.url())];
    one.write("/p/a.txt", "one");
    one.push();
    database.save(0);
    one.write("/p/b.txt", "two");
    one.push();
    reader.pull();
    database.put_back(0);
    // Takes the number that the reader has seen.
    one.write("/p/c.txt", "three");
    one.push();
    // As a process that starts anew.
    let reader = Sharing::new(reader.store.clone(), options(&database.url()));
    reader.pull(&mut |_| Ok(())).unwrap();
    assert!(reader.status().unwrap().restored.is_some());
    let files = shared(&database.url()).list(ObjectType::File, None, 9).unwrap();
    assert_eq!(files.len(), 3);
}

#[test]
fn a_server_that_lost_everything_gets_it_again_and_is_told_of() {
    let Some(database) = Database::new() else { return };
    let [one, other] = [Machine::at(&database.url()), Machine::at(&database.url())];
    run_session(&one.store, "s1", &format!("AKIA{} stays here\n", "QYLPMN5HFIQR7XYZ"));
    one.write("/p/a.txt", "text");
    one.push();
    let session = ObjectId::session("s1");
    one.sharing.push_session(&session).unwrap();
    // Went on since, in private.
    let sent = one.store.get(&session, AsOf::Latest).unwrap().unwrap().item_count;
    run_session(&one.store, "s1", "private\n");
    assert!(one.store.get(&session, AsOf::Latest).unwrap().unwrap().item_count > sent);
    other.pull();
    database.lose();

    let asked = one.sharing.look().unwrap().restored.unwrap();
    assert!(asked.is_other);
    one.push();

    let told = restored(&one).unwrap();
    assert!(told.is_other && told.done.is_some() && told.versions > 1, "{told:?}");
    let there = shared(&database.url());
    let again = there.get(&session, AsOf::Latest).unwrap().unwrap();
    assert_eq!(again.item_count, sent, "as much of it as was there");
    let calls = there.list(ObjectType::Toolcall, None, 9).unwrap();
    assert!(!there.content(&calls[0]).unwrap().unwrap().contains("AKIA"), "redacted as it was");
    other.pull();
    assert_alike(&[&one.store, &other.store, &there]);
    assert_eq!(one.push().versions, 0);
}

#[test]
fn what_was_forgotten_is_forgotten_again_in_a_restored_server() {
    let Some(database) = Database::new() else { return };
    let [one, other] = [Machine::at(&database.url()), Machine::at(&database.url())];
    let id = one.write("/p/a.txt", "a line that nobody should see\n");
    one.push();
    other.pull();
    database.save(0);
    one.store.forget(&id, ForgetOptions { dry_run: false, everywhere: false }).unwrap();
    one.push();
    other.pull();
    database.put_back(0);
    assert!(shared(&database.url()).get(&id, AsOf::Latest).unwrap().is_some());
    other.push();
    assert!(shared(&database.url()).is_forgotten(&id).unwrap());
    one.push();
    one.pull();
    assert!(one.store.is_forgotten(&id).unwrap());
}

/// One step of a history; machines and copies by their numbers.
#[derive(Debug, Clone)]
enum Step {
    Write(usize, usize),
    Push(usize),
    Pull(usize),
    /// Sends or takes, and is killed before that is noted.
    Killed(usize, bool),
    /// A new process works for the machine.
    Restart(usize),
    Save,
    PutBack(usize),
    Lose,
}

const MACHINES: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let machine = 0..MACHINES;
    prop_oneof![
        6 => (machine.clone(), 0..4_usize).prop_map(|(machine, file)| Step::Write(machine, file)),
        6 => machine.clone().prop_map(Step::Push),
        6 => machine.clone().prop_map(Step::Pull),
        2 => (machine.clone(), any::<bool>()).prop_map(|(machine, sends)| Step::Killed(machine, sends)),
        1 => machine.prop_map(Step::Restart),
        3 => Just(Step::Save),
        3 => any::<usize>().prop_map(Step::PutBack),
        1 => Just(Step::Lose),
    ]
}

/// Whatever happens to the server, at the end all that are still there, and the server, have every
/// version that any of them has. `gone`: a machine that does not come back for the end.
fn play(steps: &[Step], gone: Option<usize>) {
    let Some(database) = Database::new() else { return };
    let mut machines = [(); MACHINES].map(|()| Machine::at(&database.url()));
    let mut copies = 0;
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Step::Write(machine, file) => {
                let text = format!("version {number}\n");
                machines[machine].write(&format!("/p/{file}.txt"), &text);
            }
            Step::Push(machine) => drop(machines[machine].push()),
            Step::Pull(machine) => drop(machines[machine].pull()),
            Step::Killed(machine, sends) => killed(&machines[machine], &database, sends),
            Step::Restart(machine) => {
                let store = machines[machine].store.clone();
                machines[machine].sharing = Sharing::new(store, options(&database.url())).into();
            }
            Step::Save => {
                database.save(copies);
                copies += 1;
            }
            Step::PutBack(copy) if copies > 0 => database.put_back(copy % copies),
            Step::PutBack(_) => {}
            Step::Lose => database.lose(),
        }
    }
    let left: Vec<&Machine> =
        (0..).zip(&machines).filter(|(at, _)| Some(*at) != gone).map(|(_, left)| left).collect();
    let before: BTreeMap<ObjectId, BTreeSet<String>> =
        left.iter().fold(BTreeMap::new(), |mut all, machine| {
            for (id, (versions, _)) in everything(&machine.store, ObjectType::File) {
                all.entry(id).or_default().extend(versions);
            }
            all
        });
    for machine in &left {
        machine.push();
    }
    for machine in &left {
        machine.pull();
    }
    let there = shared(&database.url());
    for (id, known) in &before {
        let found: BTreeSet<String> = versions(&there, id).0.into_iter().collect();
        assert!(found.is_superset(known), "{id}: {known:?} are not all in {found:?}");
    }
    let stores = left.iter().map(|machine| &machine.store).chain([&there]);
    assert_alike(&stores.collect::<Vec<_>>());
    for machine in &left {
        assert_eq!((machine.push().versions, machine.pull().versions), (0, 0));
    }
}

fn killed(machine: &Machine, database: &Database, sends: bool) {
    let notes = machine.store.upkeep("sharing").unwrap();
    let name = format!("shared store {}", shared(&database.url()).id());
    let before = notes.note(&name).unwrap();
    if sends {
        machine.push();
    } else {
        machine.pull();
    }
    notes.set_note(&name, before.as_deref()).unwrap();
}

#[test]
fn any_history_of_restores_ends_with_every_version() {
    if Database::new().is_none() {
        return;
    }
    let mut config = cases::config(8, 38);
    if cases::is_long() {
        config.cases = 1_000;
    }
    let histories = (proptest::collection::vec(step(), 5..40), proptest::option::of(0..MACHINES));
    TestRunner::new(config)
        .run(&histories, |(steps, gone)| {
            play(&steps, gone);
            Ok(())
        })
        .unwrap();
}
