//! What a local store does beyond the contract of all backends: it uses its writer's clock, and
//! several transactions are one step.

use crate::backends::on_each_backend;
use crate::ops::{file, op, put};
use base::object::{AsOf, Hash, Timestamp, TxId};
use store::Expected;

const T: Timestamp = Timestamp(1_000);

#[test]
fn system_time_never_goes_back() {
    on_each_backend(|backend| {
        let times = [100, 50, -7, 100, 101].map(|now| {
            let put = put(file("/a"), &format!("{now}{}", uuid::Uuid::now_v7()), Expected::Any);
            backend.commit(&[op(put)], Timestamp(now)).unwrap().system_time.0
        });
        assert_eq!(times, [100, 100, 100, 100, 101]);
        let history = backend.history(&file("/a").id).unwrap();
        assert!(history.is_sorted_by(|new, old| new.tx_id > old.tx_id));
        let at = backend.get(&file("/a").id, AsOf::Time(Timestamp(100))).unwrap().unwrap();
        assert_eq!(at.tx_id, history[1].tx_id);
    });
}

#[test]
fn times_before_1970_are_times_too() {
    on_each_backend(|backend| {
        let put = put(file("/a"), "a", Expected::Any);
        assert_eq!(backend.commit(&[op(put)], Timestamp(-5)).unwrap().system_time, Timestamp(-5));
        assert!(backend.get(&file("/a").id, AsOf::Time(Timestamp(-5))).unwrap().is_some());
        assert!(backend.get(&file("/a").id, AsOf::Time(Timestamp(-6))).unwrap().is_none());
    });
}

#[test]
fn several_transactions_are_one_step_to_others() {
    on_each_backend(|backend| {
        let write = |text| op(put(file("/a"), text, Expected::Any));
        let (one, two) = ([write("1")], [write("2")]);
        let receipts = backend.commit_all(&[&one, &two], T).unwrap();
        let refused = [op(put(file("/b"), "b", Expected::Latest(TxId(99))))];
        let three = [write("3")];
        assert_eq!(backend.commit_all(&[&three, &refused], T).unwrap_err().code(), "CONFLICT");
        assert_eq!(backend.newest().unwrap().0, receipts[1].tx_id);
        assert_eq!(backend.content(&Hash::of("3")).unwrap(), None);
    });
}

#[test]
fn hashes_of_contents_are_listed_in_order() {
    on_each_backend(|backend| {
        let upkeep = backend.upkeep().unwrap();
        let ops =
            [("/a", "a"), ("/b", "b")].map(|(path, text)| op(put(file(path), text, Expected::Any)));
        backend.commit(&ops, T).unwrap();
        let mut hashes = vec![Hash::of("a"), Hash::of("b")];
        hashes.sort();
        assert_eq!(upkeep.content_hashes(None, 9).unwrap(), hashes);
        assert_eq!(upkeep.content_hashes(None, 1).unwrap(), hashes[..1]);
        assert_eq!(upkeep.content_hashes(Some(&hashes[0]), 9).unwrap(), hashes[1..]);
    });
}
