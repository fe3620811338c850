(ns palimpsest.xtdb.routes
  "From a request to a response, in the order of XTDB's own server, which decides what a request with several faults is told:
  path, method, body, parameters, waiting, token, endpoint. A response has `:status`, `:headers`, and `:write`, a function of
  the output stream, or `:failure`, what is thrown after the status is set."
  (:require [clojure.edn :as edn]
            [clojure.instant :as instant]
            [clojure.string :as str]
            [palimpsest.xtdb.endpoints :as endpoints]
            [palimpsest.xtdb.errors :as errors]
            [palimpsest.xtdb.formats :as formats]
            [palimpsest.xtdb.parameters :as parameters]
            [xtdb.api :as xt]
            [xtdb.http-server :as-alias server]
            [xtdb.http-server.entity :as-alias entity]
            [xtdb.http-server.query :as-alias query]
            [xtdb.io :as xio]
            [xtdb.tx.conform :as conform])
  (:import (java.io EOFException OutputStream)
           (java.time ZoneOffset)
           (java.time.format DateTimeFormatter)
           (java.util Date)))

;;; Bodies

(def ^:private from-json
  "How texts of JSON become what operations hold."
  {::conform/->doc #(xio/update-if % :xt/fn edn/read-string)
   ::conform/->valid-time #(try (instant/read-instant-date %) (catch Exception _ %))})

(defn- operations
  "The body of `submit-tx` in JSON, checked operation by operation. Without operations it is an empty transaction."
  [value]
  (update value :tx-ops
          (partial mapv #(-> %
                             (update 0 (partial keyword "xtdb.api"))
                             (conform/conform-tx-op from-json)
                             conform/->tx-op))))

(defn- decoded
  "The body in one of the formats that a route reads; nil where it is in none of them, or empty."
  [readers {:keys [content-type body]}]
  (when-let [read (readers (formats/sent content-type))]
    (try
      (read body (formats/charset content-type))
      (catch EOFException _ nil)
      (catch Exception e
        (throw (errors/malformed (formats/media-type content-type) e))))))

(defn- read-edn [body charset]
  (formats/read-edn (formats/text-reader body charset)))

(defn- read-operations [body _]
  (operations (formats/read-json body)))

;;; Routes

(def ^:private rows-of-log
  "Operations show their names alone in JSON."
  (comp formats/camel-case
        #(xio/update-if % ::xt/tx-ops (partial mapv (fn [op] (update op 0 name))))
        #(xio/update-if % ::xt/tx-events (partial mapv (fn [event] (update event 0 name))))))

(defn- routes
  "`:query`: the spec of the URL's parameters; `:awaits`: the parameters of waiting, too; `:body`: its spec, `:readers`: its
  formats; `:json`: what JSON makes of the body of an answer, or of each of its rows."
  [read-only?]
  {"status" {:get endpoints/status}
   "entity" {:get endpoints/entity, :query ::entity/query-params, :awaits true, :json identity, :row formats/camel-case}
   "entity-tx" {:get endpoints/entity-tx, :query ::server/entity-tx-spec, :awaits true}
   "query" {:get endpoints/query, :post endpoints/query, :query ::query/query-params, :awaits true
            :body ::query/body-params, :readers {:edn read-edn}, :json identity, :row identity}
   "db" {:get endpoints/db, :query ::server/db-spec, :awaits true}
   "attribute-stats" {:get endpoints/attribute-stats, :json identity}
   "submit-tx" {:post (if read-only? endpoints/refuse-writes endpoints/submit-tx)
                :body ::server/submit-tx-spec, :readers {:edn read-edn, :json read-operations}}
   "await-tx" {:get endpoints/await-tx, :query ::server/await-tx-spec}
   "await-tx-time" {:get endpoints/await-tx-time, :query ::server/await-tx-time-spec}
   "sync" {:get endpoints/sync-index, :query ::server/sync-spec}
   "tx-committed" {:get endpoints/tx-committed, :query ::server/tx-committed-spec, :awaits true}
   "tx-log" {:get endpoints/tx-log, :query ::server/tx-log-spec, :awaits true, :row rows-of-log}
   "latest-completed-tx" {:get endpoints/latest-completed-tx, :awaits true}
   "latest-submitted-tx" {:get endpoints/latest-submitted-tx}})

;;; Answers

(defn- http-date [^Date date]
  (.format DateTimeFormatter/RFC_1123_DATE_TIME (.atOffset (.toInstant date) ZoneOffset/UTC)))

(defn- write-rows [rows {:keys [row]} format ^OutputStream out]
  (try
    (if (= format :json)
      (.write out (formats/json-bytes (map row (iterator-seq rows))))
      (formats/write-edn-rows rows out))
    (finally
      (xio/try-close rows))))

(defn- response
  "What an endpoint gave, in a format."
  [{:keys [status body text failure modified]} {:keys [json] :or {json formats/camel-case} :as route} format]
  (let [rows (::endpoints/rows body)]
    (cond-> {:status status, :headers (if modified {"Last-Modified" (http-date modified)} {})}
      failure (assoc :failure failure)
      text (assoc :write (fn [^OutputStream out] (.write out (.getBytes ^String text "UTF-8"))))
      body (assoc-in [:headers "Content-Type"] (formats/content-type format))
      rows (assoc :write #(write-rows rows route format %))
      (and body (not rows))
      (assoc :write (let [bytes (if (= format :json) (formats/json-bytes (json body)) (formats/edn-bytes body))]
                      (fn [^OutputStream out] (.write out ^bytes bytes)))))))

(defn- allowed?
  "Whether a request has the token, where one is asked for."
  [token {:keys [authorization]}]
  (or (nil? token) (= authorization (str "Bearer " token))))

(defn- answered
  "What an endpoint says to a request."
  [node {:keys [query awaits body readers] :as route} {:keys [method query-string] :as request} token]
  (try
    (let [sent (when (and (= method :post) body) (decoded readers request))
          given (parameters/from-url query-string)
          spec (if awaits [query ::server/await-params] [query])
          query (parameters/values (remove nil? spec) given)
          body (when (and (= method :post) body) (parameters/body body sent))]
      (when awaits
        (endpoints/await-transaction node query))
      (if (allowed? token request)
        ((method route) node {:query query, :body body})
        {:status 401, :text "JWT Failed to validate"}))
    (catch Throwable e
      (errors/answer e))))

(defn handler
  "The function from requests (`:method`, `:path`, `:query-string`, `:accept`, `:content-type`, `:authorization`, `:body`) to
  responses, for one node."
  [node {:keys [token read-only?]}]
  (let [routes (routes read-only?)]
    (fn [{:keys [path method accept] :as request}]
      (let [route (some-> (re-matches #"/_xtdb/([^/]+)" path) second routes)
            methods (filter (or route {}) [:get :post])]
        (cond
          (and (= path "/") (= method :get)) {:status 302, :headers {"Location" "/_xtdb/query"}}
          (nil? route) {:status 404}
          (= method :options)
          {:status 200, :headers {"Allow" (str/join "," (map (comp str/upper-case name) (concat methods [:options])))}}
          (not-any? #{method} methods) {:status 405}
          :else (response (answered node route request token) route (formats/accepted accept)))))))
