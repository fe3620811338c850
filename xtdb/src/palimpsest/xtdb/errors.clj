(ns palimpsest.xtdb.errors
  "Which answer an exception becomes. Bodies are data; the endpoint's format writes them."
  (:require [palimpsest.xtdb.parameters :as parameters])
  (:import (xtdb.api NodeOutOfSyncException)))

(defn malformed
  "What is thrown for a body that is not of the format that it is said to be."
  [format cause]
  (ex-info "malformed body" {::malformed format} cause))

(defn answer
  "The response for an exception or error: 400 for what the request did wrong, else 500 with the class alone."
  [^Throwable error]
  (let [{::keys [malformed] ::parameters/keys [refusal]} (ex-data error)]
    (cond
      malformed {:status 400, :body {:error (str "Malformed " (pr-str malformed) " request.")}}
      refusal {:status 400, :body refusal}
      (or (instance? xtdb.IllegalArgumentException error) (instance? NodeOutOfSyncException error))
      {:status 400, :body (ex-data error)}
      :else {:status 500, :body {:type "exception", :class (.getName (class error))}})))

(defn unwritable
  "XTDB's own server has no way to write the exception that it makes the body of its answer to an early `tx-committed`: the
  error about that is what the client gets, as Jetty's page of a 500."
  [^Throwable error]
  (IllegalArgumentException.
   (str "No implementation of method: :write-body-to-stream of protocol: "
        "#'juxt.clojars-mirrors.ring-core.v1v9v4.ring.core.protocols/StreamableResponseBody found for class: "
        (.getName (class error)))))
