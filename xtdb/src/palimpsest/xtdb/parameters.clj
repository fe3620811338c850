(ns palimpsest.xtdb.parameters
  "What an endpoint is asked for: the parameters of the URL, turned into values and checked. The specs carry the names that
  XTDB's own server prints in its answers to bad requests. Runs nothing on a node."
  (:require [clojure.instant :as instant]
            [clojure.spec.alpha :as s]
            [clojure.string :as str]
            [palimpsest.xtdb.formats :as formats]
            [xtdb.api :as xt]
            [xtdb.codec :as codec]
            [xtdb.http-server :as-alias server]
            [xtdb.http-server.entity :as-alias entity]
            [xtdb.http-server.query :as-alias query]
            [xtdb.http-server.util :as-alias util])
  (:import (java.net URLDecoder)
           (java.util Date)))

;;; The URL

(defn- decoded [text]
  (try
    (URLDecoder/decode text "UTF-8")
    (catch IllegalArgumentException _ nil)))

(defn- kebab-case [name]
  (-> name
      (str/replace #"([a-z0-9])([A-Z])" "$1-$2")
      (str/replace "_" "-")
      str/lower-case))

(defn from-url
  "The parameters of a query string by their names in kebab case, as texts; a name that occurs twice has a vector. What is
  not encoded correctly is left out."
  [query-string]
  (reduce (fn [parameters pair]
            (let [[name value] (map decoded (str/split pair #"=" 2))
                  value (if (str/includes? pair "=") value "")]
              (cond
                (or (nil? name) (nil? value) (= "" pair)) parameters
                (contains? parameters (kebab-case name))
                (update parameters (kebab-case name) #(conj (if (vector? %) % [%]) value))
                :else (assoc parameters (kebab-case name) value))))
          {}
          (str/split (or query-string "") #"&")))

;;; From text to value. What cannot be read stays text, for the specs to refuse; times throw at once.

(defn- or-invalid [read]
  (fn [text]
    (try (read text) (catch Exception _ ::s/invalid))))

(defn- long-or-text [text]
  (try (Long/parseLong text) (catch NumberFormatException _ text)))

(defn- boolean-or-text [text]
  (case text "true" true "false" false text))

(def ^:private read-edn (or-invalid codec/read-edn-string-with-readers))
(def ^:private read-json (or-invalid formats/read-json))
(def ^:private read-time instant/read-instant-date)

(def ^:private readers
  (merge
   (zipmap [:valid-time :tx-time :start-valid-time :end-valid-time :start-tx-time :end-tx-time :await-tx-time]
           (repeat read-time))
   (zipmap [:tx-id :timeout :start-tx-id :end-tx-id :after-tx-id :await-tx-id :await-tx-timeout] (repeat long-or-text))
   (zipmap [:history :with-corrections :with-docs :with-ops? :link-entities?] (repeat boolean-or-text))
   {:sort-order keyword
    :eid-edn read-edn, :query-edn read-edn, :in-args-edn read-edn
    :eid-json read-json, :in-args-json read-json}))

;;; Specs

(s/def ::util/date #(instance? Date %))
;; `and` of two functions is the second: the form is what the answers print.
(s/def ::util/eid (and string? codec/valid-id?))
(s/def ::util/eid-edn codec/valid-id?)
(s/def ::util/eid-json codec/valid-id?)
(s/def ::util/link-entities? boolean?)
(s/def ::util/valid-time ::util/date)
(s/def ::util/tx-time ::util/date)
(s/def ::util/timeout int?)
(s/def ::util/tx-id int?)

(s/def ::server/await-tx-id ::util/tx-id)
(s/def ::server/await-tx-time ::util/date)
(s/def ::server/await-tx-timeout ::util/timeout)
(s/def ::server/await-params
  (s/keys :opt-un [::server/await-tx-id ::server/await-tx-time ::server/await-tx-timeout]))

(s/def ::entity/sort-order keyword?)
(s/def ::entity/start-valid-time ::util/date)
(s/def ::entity/end-valid-time ::util/date)
(s/def ::entity/start-tx-time ::util/date)
(s/def ::entity/end-tx-time ::util/date)
(s/def ::entity/start-tx-id ::util/tx-id)
(s/def ::entity/end-tx-id ::util/tx-id)
(s/def ::entity/history boolean?)
(s/def ::entity/with-corrections boolean?)
(s/def ::entity/with-docs boolean?)
(s/def ::entity/query-params
  (s/keys :opt-un [::util/eid ::util/eid-edn ::util/eid-json ::entity/history ::entity/sort-order
                   ::util/valid-time ::util/tx-time ::util/tx-id
                   ::entity/start-valid-time ::entity/start-tx-time ::entity/start-tx-id
                   ::entity/end-valid-time ::entity/end-tx-time ::entity/end-tx-id
                   ::entity/with-corrections ::entity/with-docs ::util/link-entities?]))

(s/def ::server/entity-tx-spec
  (s/keys :req-un [(or ::util/eid-edn ::util/eid-json ::util/eid)]
          :opt-un [::util/valid-time ::util/tx-time ::util/tx-id]))

(s/def ::server/db-spec (s/keys :opt-un [::util/valid-time ::util/tx-time ::util/tx-id]))

(s/def ::query/query any?)
(s/def ::query/query-edn ::query/query)
(s/def ::query/in-args vector?)
(s/def ::query/in-args-edn ::query/in-args)
(s/def ::query/in-args-json ::query/in-args)
(s/def ::query/query-params
  (s/keys :opt-un [::util/valid-time ::util/tx-time ::util/tx-id ::util/link-entities?
                   ::query/query-edn ::query/in-args-edn ::query/in-args-json]))
(s/def ::query/body-params (s/keys :req-un [::query/query] :opt-un [::query/in-args]))

(s/def ::server/tx-ops vector?)
(s/def ::server/submit-tx-spec (s/keys :req-un [::server/tx-ops] :opt [::xt/submit-tx-opts]))
(s/def ::server/with-ops? boolean?)
(s/def ::server/after-tx-id int?)
(s/def ::server/tx-log-spec (s/keys :opt-un [::server/with-ops? ::server/after-tx-id]))
(s/def ::server/sync-spec (s/keys :opt-un [::util/tx-time ::util/timeout]))
(s/def ::server/await-tx-spec (s/keys :req-un [::util/tx-id] :opt-un [::util/timeout]))
(s/def ::server/await-tx-time-spec (s/keys :req-un [::util/tx-time] :opt-un [::util/timeout]))
(s/def ::server/tx-committed-spec (s/keys :req-un [::util/tx-id]))

;;; Checking

(defn- refusal
  "The body of the 400 that names what a spec found wrong."
  [spec value given in]
  {:spec (str (s/form spec))
   :problems (mapv #(update % :pred pr-str) (::s/problems (s/explain-data spec value)))
   :type :reitit.coercion/request-coercion
   :coercion :spec
   :value given
   :in [:request in]})

(defn- checked [spec value given in]
  (if (s/valid? spec value)
    value
    (throw (ex-info "the request does not fit" {::refusal (refusal spec value given in)}))))

(defn values
  "The parameters of a URL as an endpoint takes them, checked by some specs. Throws `ex-info` with `::refusal`; a time that
  cannot be read is a `RuntimeException`."
  [specs given]
  (let [given (update-keys given keyword)
        value (into {}
                    (map (fn [[name text]]
                           (let [read (readers name)]
                             [name (if (and read (string? text)) (read text) text)])))
                    given)]
    (reduce (fn [value spec] (checked spec value given :query-params)) value specs)))

(defn body
  "The body of a request; nil is what could not be read as anything."
  [spec value]
  (checked spec value value :body-params))
