(ns palimpsest.xtdb.endpoints
  "What each endpoint does with a node. A handler takes the node and `{:query, :body}` and gives `{:status, :body, :modified}`;
  a body `{::rows cursor}` is written row by row. Knows neither HTTP nor formats."
  (:require [xtdb.api :as xt]
            [xtdb.error :as error]
            [palimpsest.xtdb.errors :as errors])
  (:import (java.time Duration)
           (xtdb.api NodeOutOfSyncException)))

(defn- milliseconds [timeout]
  (some-> timeout Duration/ofMillis))

(defn await-transaction
  "Waits as the parameters `await-tx-id`, `await-tx-time` and `await-tx-timeout` say; without the last, for ever."
  [node {:keys [await-tx-id await-tx-time await-tx-timeout]}]
  (cond
    await-tx-id (xt/await-tx node {::xt/tx-id await-tx-id} (milliseconds await-tx-timeout))
    await-tx-time (xt/await-tx-time node await-tx-time (milliseconds await-tx-timeout))))

(defn- database [node {:keys [valid-time tx-time tx-id]}]
  (xt/db node {::xt/valid-time valid-time, ::xt/tx-time tx-time, ::xt/tx-id tx-id}))

(defn- id [{:keys [eid-edn eid-json eid]}]
  (or eid-edn eid-json eid))

(defn status [node _]
  {:status 200, :body (xt/status node)})

;;; Reading

(defn- history [node {:keys [sort-order with-corrections with-docs] :as query}]
  (let [position (fn [time tx-id]
                   (not-empty (into {} (filter val) {::xt/tx-time (query time), ::xt/tx-id (query tx-id)})))]
    {:status 200
     :body {::rows (xt/open-entity-history (database node query) (id query) sort-order
                                           {:with-corrections? with-corrections
                                            :with-docs? with-docs
                                            :start-valid-time (:start-valid-time query)
                                            :end-valid-time (:end-valid-time query)
                                            :start-tx (position :start-tx-time :start-tx-id)
                                            :end-tx (position :end-tx-time :end-tx-id)})}}))

(defn- latest [node query]
  (let [document (xt/entity (database node query) (id query))]
    (if (empty? document)
      {:status 404, :body {:error (str (id query) " entity not found")}}
      {:status 200, :body document})))

(defn entity [node {:keys [query]}]
  (cond
    (nil? (id query)) (throw (error/illegal-arg :missing-eid {::error/message "Missing eid"}))
    (:history query) (history node query)
    :else (latest node query)))

(defn entity-tx [node {:keys [query]}]
  (if-let [transaction (xt/entity-tx (database node query) (id query))]
    {:status 200, :body transaction, :modified (::xt/tx-time transaction)}
    {:status 404, :body {:error (str (id query) " entity-tx not found")}}))

(defn query [node {:keys [query body]}]
  (let [datalog (or (:query-edn query) (:query body))
        arguments (or (:in-args-edn query) (:in-args-json query) (:in-args body))]
    (when (nil? datalog)
      (throw (error/illegal-arg :no-query {::error/message "No query provided"})))
    {:status 200
     :body {::rows (apply xt/open-q (database node query) datalog arguments)}}))

(defn db [node {:keys [query]}]
  {:status 200, :body (xt/db-basis (database node query))})

(defn attribute-stats [node _]
  {:status 200, :body (xt/attribute-stats node)})

;;; Transactions

(defn submit-tx [node {{:keys [tx-ops] ::xt/keys [submit-tx-opts]} :body}]
  (let [transaction (if submit-tx-opts
                      (xt/submit-tx node tx-ops submit-tx-opts)
                      (xt/submit-tx node tx-ops))]
    {:status 202, :body transaction, :modified (::xt/tx-time transaction)}))

(defn refuse-writes [_ _]
  {:status 403, :text "forbidden: read-only HTTP node"})

(defn tx-committed [node {:keys [query]}]
  (try
    {:status 200, :body {:tx-committed? (xt/tx-committed? node {::xt/tx-id (:tx-id query)})}}
    (catch NodeOutOfSyncException e
      {:status 400, :failure (errors/unwritable e)})))

(defn await-tx [node {{:keys [tx-id timeout]} :query}]
  (let [transaction (xt/await-tx node {::xt/tx-id tx-id} (milliseconds timeout))]
    {:status 200, :body transaction, :modified (::xt/tx-time transaction)}))

(defn await-tx-time [node {{:keys [tx-time timeout]} :query}]
  (let [time (xt/await-tx-time node tx-time (milliseconds timeout))]
    {:status 200, :body {::xt/tx-time time}, :modified time}))

(defn sync-index [node {{:keys [tx-time timeout]} :query}]
  (let [time (if tx-time
               (xt/await-tx-time node tx-time (milliseconds timeout))
               (xt/sync node (milliseconds timeout)))]
    {:status 200, :body {::xt/tx-time time}, :modified time}))

(defn tx-log [node {{:keys [after-tx-id with-ops?]} :query}]
  {:status 200
   :body {::rows (xt/open-tx-log node after-tx-id with-ops?)}
   :modified (::xt/tx-time (xt/latest-completed-tx node))})

(defn latest-completed-tx [node _]
  (if-let [transaction (xt/latest-completed-tx node)]
    {:status 200, :body transaction}
    {:status 404, :body {:error "No latest-completed-tx found."}}))

(defn latest-submitted-tx [node _]
  (if-let [transaction (xt/latest-submitted-tx node)]
    {:status 200, :body transaction}
    {:status 404, :body {:error "No latest-submitted-tx found."}}))
