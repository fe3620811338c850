;; Run by pom.xml: compiles XTDB's own namespaces into target/classes. The server's own files are not compiled, so that a change
;; of them counts at the next start.
(require '[clojure.java.io :as io])

(let [classes (io/file "target/classes")]
  ;; Those of another version would be taken for newer than their sources.
  (run! #(io/delete-file % true) (reverse (file-seq classes)))
  (io/make-parents (io/file classes "any"))
  (binding [*compile-path* (str classes)]
    (run! compile '[xtdb.api xtdb.node xtdb.query xtdb.mem-kv xtdb.kv.index-store xtdb.tx.conform xtdb.rocksdb xtdb.jdbc
                    xtdb.jdbc.psql])))
