//! Who shares: what machines know of each other, the sessions that come from others, and a machine
//! that may only read.

use std::sync::atomic::Ordering;

use base::object::{AsOf, ObjectId};
use store::ForgetOptions;
use xtdb::{Pulled, SharingMachine, machine_of};

use crate::machine::{Machine, NOW};
use crate::outages::wait_until;
use crate::sharing::run_session;
use testing::faults::{Fault, Proxy};
use testing::xtdb::Database;

fn named(url: &str, author: &str) -> Machine {
    Machine::with(url, |options| {
        options.author = Some(author.into());
        options.sessions = true;
    })
}

/// What the shared store says of a machine, as another one sees it.
fn seen(asks: &Machine, of: &Machine) -> SharingMachine {
    let machines = asks.sharing.machines().unwrap();
    machines.into_iter().find(|one| one.store_id == of.store.id()).unwrap()
}

fn take_sessions(machine: &Machine, all: bool) -> Pulled {
    machine.sharing.pull_sessions(all, &mut |_| Ok(())).unwrap()
}

#[test]
fn machines_are_listed_with_author_and_what_waits() {
    let Some(database) = Database::new() else { return };
    let [ann, bob] = ["Ann", "Bob"].map(|author| named(&database.url(), author));
    assert_eq!(ann.sharing.machines().unwrap(), []);
    ann.write("/p/a.txt", "one");
    ann.push();
    bob.push();
    let waits = |of: &Machine| seen(&ann, of).behind;
    assert_eq!((waits(&ann), waits(&bob)), (0, 1));
    let there = seen(&bob, &ann);
    assert_eq!(there.machine.author.as_deref(), Some("Ann"));
    assert_eq!(there.machine.machine, hostname::get().unwrap().into_string().unwrap());
    assert!(there.seen.0 > 0);

    // Its own figure is the one of now; the others hear of it a minute later at the earliest.
    bob.pull();
    assert_eq!((seen(&bob, &bob).behind, waits(&bob)), (0, 1));
    bob.clock.fetch_add(60_000, Ordering::Relaxed);
    bob.push();
    assert_eq!(waits(&bob), 0);

    let long = named(&database.url(), &"é".repeat(1_000));
    long.push();
    assert_eq!(seen(&ann, &long).machine.author, Some("é".repeat(255)));
}

#[test]
fn who_wrote_a_version_is_known_where_it_came_to() {
    let Some(database) = Database::new() else { return };
    let [ann, bob] = ["Ann", "Bob"].map(|author| named(&database.url(), author));
    ann.write("/p/a.txt", "one");
    run_session(&ann.store, "s1", "done\n");
    ann.push();
    bob.pull();
    let author = |at: &Machine| machine_of(&at.store, ann.store.id())?.author;
    assert_eq!(author(&bob).as_deref(), Some("Ann"));

    let third = named(&database.url(), "Cid");
    third.sharing.pull_session("s1").unwrap();
    assert_eq!(author(&third).as_deref(), Some("Ann"), "also where nothing else was taken");

    let renamed = xtdb::Sharing::new(ann.store.clone(), {
        let mut options = crate::machine::options(&database.url());
        options.author = Some("Ann B.".into());
        options
    });
    renamed.push(&mut |_| Ok(())).unwrap();
    bob.pull();
    assert_eq!(author(&bob).as_deref(), Some("Ann B."));
}

#[test]
fn a_machine_says_little_of_itself_while_nothing_changes() {
    let Some(database) = Database::new() else { return };
    let [ann, bob] = ["Ann", "Bob"].map(|author| named(&database.url(), author));
    for machine in [&ann, &bob] {
        machine.push();
        machine.pull();
    }
    let there = crate::machine::shared(&database.url());
    let (newest, _) = there.newest().unwrap();
    for _ in 0..3 {
        for machine in [&ann, &bob] {
            machine.clock.fetch_add(600_000, Ordering::Relaxed);
            machine.push();
            machine.pull();
        }
    }
    assert_eq!(there.newest().unwrap().0, newest);
    ann.clock.store(NOW + 3_700_000, Ordering::Relaxed);
    ann.push();
    assert!(there.newest().unwrap().0 > newest, "after an hour it is still there");
}

#[test]
fn new_sessions_or_all_that_went_on_are_taken() {
    let Some(database) = Database::new() else { return };
    let [ann, bob] = ["Ann", "Bob"].map(|author| named(&database.url(), author));
    run_session(&ann.store, "s1", "done\n");
    run_session(&ann.store, "s2", "done\n");
    ann.push();
    let events = |id: &str| {
        let version = bob.store.get(&ObjectId::session(id), AsOf::Latest).unwrap();
        version.map_or(0, |version| version.item_count)
    };
    assert_eq!(bob.pull().versions, 0);
    assert!(take_sessions(&bob, false).versions > 0);
    let known = events("s1");
    assert!(known > 0 && events("s2") > 0);
    assert_eq!(take_sessions(&bob, true).versions, 0);

    run_session(&ann.store, "s1", "done again\n");
    run_session(&ann.store, "s3", "done\n");
    ann.push();
    take_sessions(&bob, false);
    assert_eq!((events("s1"), events("s3") > 0), (known, true), "only what is not here");
    take_sessions(&bob, true);
    assert!(events("s1") > known);

    let forgotten = ObjectId::session("s3");
    bob.store.forget(&forgotten, ForgetOptions { dry_run: false, everywhere: false }).unwrap();
    bob.push();
    assert_eq!(take_sessions(&bob, true).versions, 0);
    let listed = ann.sharing.sessions().unwrap();
    assert!(listed.iter().all(|session| session.envelope.id != forgotten));
}

#[test]
fn who_may_only_read_takes_what_others_send() {
    let Some(database) = Database::new() else { return };
    let writer = named(&database.url(), "Ann");
    let id = writer.write("/p/a.txt", "one");
    writer.push();
    let proxy = Proxy::before(&database.url());
    proxy.set(Fault::ReadOnly);
    let reader = named(&format!("{}{}", proxy.url(), database.path()), "Bob");
    reader.write("/p/b.txt", "stays here");
    let _running = reader.sharing.start().unwrap();
    wait_until("taking", || reader.text(&id).is_some());
    wait_until("noticing", || reader.sharing.status().unwrap().error.is_some());
    let status = reader.sharing.status().unwrap();
    assert_eq!((status.outbox, status.error.unwrap().code.as_str()), (1, "XTDB_REFUSED"));
    let writers = writer.sharing.machines().unwrap();
    assert_eq!(writers.len(), 1, "it cannot say that it is there");
}
