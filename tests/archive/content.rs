//! What goes through an archive unchanged, and what is refused.

use palimpsest::store::Scope;

use crate::world::World;

#[test]
fn a_store_comes_back_whole_from_its_archive() {
    for here in World::each() {
        let here = here.with_history();
        let archive = here.export(Scope::Everything);
        for there in World::each() {
            let imported = there.import(&archive);
            assert_eq!(imported.left_out, []);
            assert_eq!(imported.versions, here.versions().len() as u64);
            assert_eq!((imported.put_again, imported.nicknames), (0, 1));
            assert_eq!(there.portable(), here.portable());
            assert_eq!(there.latest(), here.latest());
            assert_eq!(there.beside(), here.beside());
            there.verify();
        }
    }
}
