(ns palimpsest.xtdb.server
  "The development server: a real node of XTDB behind Jetty, on loopback. Started by `npm run xtdb` and by the tests:

    java @jvm.options -cp … clojure.main -m palimpsest.xtdb.server --config FILE [--port N] [--token-file FILE]
      [--read-only] [--until-stdin-closes]

  The configuration is XTDB's own; of `:xtdb.http-server/server` it takes `:port` and `:read-only?`. Relative folders lie in
  the folder in which it is started. Prints one line when it answers.

  Besides the node of the configuration it has databases of its own for tests, which XTDB does not have: `/db/NAME/_xtdb/…`
  is an empty node in memory, made when it is first named; DELETE `/db/NAME` ends it. POST `/db/NAME/copies/save/N` keeps a
  copy of it, and `/db/NAME/copies/put-back/N` puts that back."
  (:require [clojure.edn :as edn]
            [clojure.java.io :as io]
            [clojure.string :as str]
            [palimpsest.xtdb.routes :as routes]
            [xtdb.api :as xt]
            [xtdb.mem-kv :as mem-kv]
            [xtdb.memory :as mem])
  (:import (javax.servlet.http HttpServletRequest HttpServletResponse)
           (org.eclipse.jetty.server HttpConfiguration HttpConnectionFactory Request Server ServerConnector)
           (org.eclipse.jetty.server.handler AbstractHandler)
           (org.eclipse.jetty.util.thread QueuedThreadPool)))

;;; Databases of tests

(defn- kept-in
  "A store of keys and values in memory, as XTDB's own, that begins with what is in an atom and goes on there."
  [kept]
  {:kv-store {:xtdb/module (fn [_] (mem-kv/map->MemKv {:!db kept}))}})

(defn- start-database
  "The handler of a database, with its node and with what its log and its documents are kept in."
  [options log documents]
  (let [kept {:log (atom log), :documents (atom documents)}
        node (xt/start-node {:xtdb/query-engine {:fn-allow-list []}
                             :xtdb/tx-log (kept-in (:log kept))
                             :xtdb/document-store (kept-in (:documents kept))})]
    (assoc kept :node node, :handle (routes/handler node options))))

(def ^:private nothing (sorted-map-by mem/buffer-comparator))

(defn- database
  "The database of this name, made when it is first named."
  [databases name options]
  (let [made (swap! databases update name #(or % (delay (start-database options nothing nothing))))]
    @(made name)))

(defn- end-node [database]
  (.close ^java.io.Closeable (:node database)))

(defn- end-database [databases name]
  (let [[before] (swap-vals! databases dissoc name)]
    (when-let [database (before name)]
      (end-node @database))
    {:status 200}))

(defn- save
  "Keeps a copy under a name. The log first: documents are written before the transactions that name them."
  [copies {:keys [log documents]} copy]
  (let [log @log]
    (swap! copies assoc copy [log @documents])
    {:status 200}))

(defn- put-back
  "Ends the node as a kill does, and goes on with a copy, or with nothing: what was written since is gone."
  [databases copies name options copy]
  (let [[log documents] (@copies copy [nothing nothing])
        [before] (swap-vals! databases assoc name (delay (start-database options log documents)))]
    (when-let [database (before name)]
      (end-node @database))
    {:status 200}))

(defn- dispatch
  "Requests below `/db/NAME` to the database of that name, all others to the node of the configuration."
  [handle options]
  (let [databases (atom {}), copies (atom {})]
    (fn [{:keys [path method] :as request}]
      (if-let [[_ name rest] (re-matches #"/db/([A-Za-z0-9_.-]+)(/.*)?" path)]
        (let [[_ act number] (re-matches #"/copies/(save|put-back)/([0-9]+|none)" (or rest ""))
              copy [name number]]
          (cond
            (and (nil? rest) (= method :delete)) (do (swap! copies #(into {} (remove (comp #{name} ffirst)) %))
                                                     (end-database databases name))
            (= act "save") (save copies (database databases name options) copy)
            (= act "put-back") (put-back databases copies name options copy)
            :else ((:handle (database databases name options)) (assoc request :path (or rest "/")))))
        (handle request)))))

;;; HTTP

(defn- request [^HttpServletRequest request]
  {:method (keyword (str/lower-case (.getMethod request)))
   :path (.getRequestURI request)
   :query-string (.getQueryString request)
   :accept (.getHeader request "Accept")
   :content-type (.getContentType request)
   :authorization (.getHeader request "Authorization")
   :body (.getInputStream request)})

(defn- respond
  "The stream is closed also when writing fails, so that the client gets status and headers, and then no more."
  [^HttpServletResponse response {:keys [status headers write failure]}]
  (.setStatus response status)
  (doseq [[name value] headers]
    (.setHeader response name value))
  (when failure
    (throw failure))
  (when write
    (with-open [out (.getOutputStream response)]
      (write out))))

(defn- jetty-handler [handle]
  (proxy [AbstractHandler] []
    (handle [_ ^Request base ^HttpServletRequest from ^HttpServletResponse to]
      (try
        (respond to (handle (request from)))
        (catch Throwable e
          ;; Nothing reaches a client that has an answer already: Jetty then drops the connection.
          (.sendError to 500 (.getMessage e)))
        (finally
          (.setHandled base true))))))

(defn- start-http
  "Starts Jetty on loopback with the limits of XTDB's own server. Gives the port."
  [handle port]
  (let [server (Server. (QueuedThreadPool. 50))
        configuration (doto (HttpConfiguration.) (.setSendDateHeader false))
        connector (doto (ServerConnector. server)
                    (.setConnectionFactories [(HttpConnectionFactory. configuration)])
                    (.setHost "127.0.0.1")
                    (.setPort port)
                    (.setIdleTimeout 200000))]
    (.addConnector server connector)
    (.setHandler server (jetty-handler handle))
    (.start server)
    (.getLocalPort connector)))

;;; Start and end

(defn- options
  "The command line as a map; options without a value are true."
  [arguments]
  (loop [options {}, [argument & others] arguments]
    (cond
      (nil? argument) options
      (#{"--read-only" "--until-stdin-closes"} argument) (recur (assoc options (keyword (subs argument 2)) true) others)
      :else (recur (assoc options (keyword (subs argument 2)) (first others)) (rest others)))))

(defn- exit-with-stdin
  "Ends the process when its standard input does: it cannot outlive whoever started it."
  []
  (doto (Thread. ^Runnable (fn []
                             (while (not (neg? (.read System/in))))
                             (System/exit 0)))
    (.setDaemon true)
    (.start)))

(defn- start
  "Starts node and front by the command line. Gives the port."
  [{:keys [config port token-file read-only]}]
  (let [config (edn/read-string (slurp (io/file config)))
        http (:xtdb.http-server/server config)
        node (xt/start-node (dissoc config :xtdb.http-server/server))
        options {:token (some-> token-file slurp str/trim)
                 :read-only? (or read-only (:read-only? http))}]
    (.addShutdownHook (Runtime/getRuntime) (Thread. ^Runnable #(.close ^java.io.Closeable node)))
    (start-http (dispatch (routes/handler node options) options)
                (or (some-> port Long/parseLong) (:port http) 3000))))

(defn -main [& arguments]
  (let [options (options arguments)]
    (when (:until-stdin-closes options)
      (exit-with-stdin))
    (try
      (println (str "XTDB answers at http://127.0.0.1:" (start options)))
      (flush)
      (catch Throwable e
        (let [cause (last (take-while some? (iterate ex-cause e)))]
          (.println System/err (str "XTDB does not start: " (or (ex-message cause) (class cause)))))
        (System/exit 1)))))
