(ns palimpsest.xtdb.formats
  "JSON and EDN, in and out, as XTDB's own HTTP server reads and writes them: object keys are keywords, integers keep the
  smallest of Java's types that holds them (hashes depend on it), dates in JSON are printed to the second.
  Knows no endpoint. Transit, CSV and HTML are left out: whoever asks for them gets EDN."
  (:require [clojure.edn :as edn]
            [clojure.java.io :as io]
            [clojure.string :as str]
            [xtdb.codec :as codec])
  (:import (clojure.lang BigInt IPersistentList Keyword PersistentHashMap Ratio)
           (com.fasterxml.jackson.core JsonFactory JsonGenerator JsonParser JsonToken JsonTokenId)
           (java.io ByteArrayOutputStream EOFException InputStream OutputStream PushbackReader Writer)
           (java.text SimpleDateFormat)
           (java.util Date Locale TimeZone)))

;;; JSON in

(def ^:private ^JsonFactory json (JsonFactory.))

(defn- parse
  "The value that begins with a token."
  [^JsonParser parser ^JsonToken token]
  (condp = (.id token)
    JsonTokenId/ID_START_OBJECT
    ;; A hash map however small: the order of its keys is what documents keep.
    (loop [object (transient PersistentHashMap/EMPTY)]
      (if (identical? (.nextToken parser) JsonToken/END_OBJECT)
        (persistent! object)
        (let [key (keyword (.getCurrentName parser))]
          (recur (assoc! object key (parse parser (.nextToken parser)))))))
    JsonTokenId/ID_START_ARRAY
    (loop [array (transient [])]
      (let [token (.nextToken parser)]
        (if (identical? token JsonToken/END_ARRAY)
          (persistent! array)
          (recur (conj! array (parse parser token))))))
    JsonTokenId/ID_STRING (.getText parser)
    JsonTokenId/ID_NUMBER_INT (.getNumberValue parser)
    JsonTokenId/ID_NUMBER_FLOAT (.getDoubleValue parser)
    JsonTokenId/ID_TRUE true
    JsonTokenId/ID_FALSE false
    JsonTokenId/ID_NULL nil))

(defn read-json
  "The first JSON value of a stream or string; what follows it is not looked at. `EOFException` where there is none."
  [source]
  (with-open [parser (if (string? source)
                       (.createParser json ^String source)
                       (.createParser json ^InputStream source))]
    (if-let [token (.nextToken parser)]
      (parse parser token)
      (throw (EOFException. "no JSON value")))))

;;; JSON out

(defn- date-text [^Date date]
  (.format (doto (SimpleDateFormat. "yyyy-MM-dd'T'HH:mm:ss'Z'" Locale/ROOT)
             (.setTimeZone (TimeZone/getTimeZone "UTC")))
           date))

(defn- key-text [key]
  (if (keyword? key) (subs (str key) 1) (str key)))

(defn- write
  [^JsonGenerator out value]
  (cond
    (nil? value) (.writeNull out)
    (string? value) (.writeString out ^String value)
    (instance? Boolean value) (.writeBoolean out value)
    (instance? Keyword value) (.writeString out ^String (key-text value))
    (map? value) (do (.writeStartObject out)
                     (doseq [[key inner] value]
                       (.writeFieldName out ^String (key-text key))
                       (write out inner))
                     (.writeEndObject out))
    ;; A function of transactions is shown as the text that it was given as.
    (and (instance? IPersistentList value) (contains? #{'fn 'fn*} (first value))) (.writeString out (pr-str value))
    (or (coll? value) (seq? value)) (do (.writeStartArray out)
                                        (run! #(write out %) value)
                                        (.writeEndArray out))
    (instance? BigInt value) (.writeNumber out (.toBigInteger ^BigInt value))
    (instance? BigInteger value) (.writeNumber out ^BigInteger value)
    (instance? BigDecimal value) (.writeNumber out ^BigDecimal value)
    (or (instance? Double value) (instance? Float value) (instance? Ratio value)) (.writeNumber out (double value))
    (integer? value) (.writeNumber out (long value))
    (instance? Date value) (.writeString out ^String (date-text value))
    (bytes? value) (.writeString out ^String (codec/base64-writer value))
    ;; IDs of content, UUIDs, symbols, characters.
    :else (.writeString out (str value))))

(defn json-bytes
  "A value as JSON. A sequence is realised before its first byte is written: an error in its midst leaves nothing."
  ^bytes [value]
  (let [bytes (ByteArrayOutputStream.)]
    (with-open [out (.createGenerator json bytes)]
      (write out value))
    (.toByteArray bytes)))

(defn camel-case
  "The keys of a map as JSON shows those of XTDB's own: `:xtdb.api/tx-id` is `txId`. Inner maps stay as they are."
  [value]
  (if (map? value)
    (into {} (map (fn [[key inner]]
                    [(keyword (str/replace (name key) #"-(\w)" (fn [[_ letter]] (str/upper-case letter)))) inner]))
          value)
    value))

;;; EDN

(defn read-edn
  "The first EDN form of a reader, with XTDB's tags. `EOFException` where the text ends before the form does."
  [reader]
  (try
    (edn/read {:readers *data-readers*} (PushbackReader. reader))
    (catch RuntimeException e
      (if (= "EOF while reading" (.getMessage e))
        (throw (EOFException. "no EDN form"))
        (throw e)))))

(defn edn-bytes ^bytes [value]
  (.getBytes ^String (pr-str value) "UTF-8"))

(defn write-edn-rows
  "What a cursor gives as one list, row by row: an error in its midst cuts the text off. Closes the stream."
  [cursor ^OutputStream stream]
  (with-open [^Writer out (io/writer stream)]
    (print-method (or (iterator-seq cursor) ()) out)))

;;; Which of them

(def ^:private names {"application/json" :json, "application/edn" :edn})

(defn media-type
  "The type that a header names, without its parameters."
  [header]
  (some-> header (str/split #";") first str/trim str/lower-case))

(defn accepted
  "The format that an `Accept` header asks for most: `:json`, or `:edn`, which is also the answer to everything unknown."
  [header]
  (let [weight (fn [entry]
                 (if-let [[_ q] (re-find #";\s*q=([0-9.]+)" entry)] (or (parse-double q) 0.0) 1.0))
        entries (sort-by (comp - weight) (str/split (or header "") #","))]
    (or (some (comp names media-type) entries) :edn)))

(defn sent
  "The format that a `Content-Type` header names; nil for any other."
  [header]
  (names (media-type header)))

(defn charset
  "The charset that a `Content-Type` header names."
  [header]
  (or (second (re-find #"(?i)charset=\"?([^\s;\"]+)" (or header ""))) "utf-8"))

(def content-type {:json "application/json; charset=utf-8", :edn "application/edn; charset=utf-8"})

(defn text-reader [^InputStream stream encoding]
  (io/reader stream :encoding encoding))

