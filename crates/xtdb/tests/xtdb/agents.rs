//! Four agents write through one server that is killed twice: in the end every store has every
//! version.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use base::object::ObjectType;

use crate::machine::{Machine, everything, shared};
use testing::xtdb::{Node, NodeKind};

/// Versions of each of the four: 2,500 in `npm run soak`.
fn versions_each() -> usize {
    if std::env::var_os("PALIMPSEST_SOAK").is_some() { 2_500 } else { 60 }
}

#[test]
fn four_agents_and_two_kills_leave_every_version_everywhere() {
    let Some(mut node) = Node::start(NodeKind::Rocks) else { return };
    let agents = [(); 4].map(|()| Machine::at(&node.url()));
    let running: Vec<_> = agents.iter().map(|agent| agent.sharing.start().unwrap()).collect();
    thread::scope(|scope| {
        for (number, agent) in agents.iter().enumerate() {
            scope.spawn(move || write_all(agent, number));
        }
        for _ in 0..2 {
            thread::sleep(Duration::from_secs(3));
            node.kill9();
            thread::sleep(Duration::from_secs(1));
            node.restart();
        }
    });
    drop(running);
    for agent in &agents {
        agent.push();
    }
    for agent in &agents {
        agent.pull();
    }
    let there = everything(&shared(&node.url()), ObjectType::File);
    let versions: usize = there.values().map(|(versions, _)| versions.len()).sum();
    assert_eq!(versions, 4 * versions_each());
    for agent in &agents {
        let here = everything(&agent.store, ObjectType::File);
        let differing: BTreeMap<_, _> =
            here.iter().filter(|(id, all)| there.get(id) != Some(all)).collect();
        assert!(differing.is_empty(), "{differing:#?}");
        assert_eq!(here.len(), there.len());
    }
}

/// Half of the versions are of files of its own, half of files that all write.
fn write_all(agent: &Machine, number: usize) {
    for version in 0..versions_each() {
        let text = format!("version {version} by agent {number}\n");
        if version % 2 == 0 {
            agent.write(&format!("/p/own-{number}-{}.txt", version % 40), &text);
        } else {
            agent.write(&format!("/p/all-{}.txt", version % 20), &text);
        }
        // As an agent at work: the clock of each goes its own way.
        thread::sleep(Duration::from_millis(2));
    }
}
