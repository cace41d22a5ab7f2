/* What happens in the vault, heard from the server and told to the page as events of its own; and the pill that sums it up. */
(function () {
  "use strict";

  /* ---- events ---- */

  const KINDS = ["file", "digest", "document", "person", "vault", "progress", "status", "reset"];
  const HIDDEN_MS = 5000; // browsers allow few connections for one server: a tab nobody looks at gives up its own
  let source = null;
  let last = document.documentElement.dataset.after || null; // what happened before, this page shows already
  let hiding = 0;
  let waiting = 1000;
  let missed = 0;
  const AWAY_MS = 3000; // as long as it takes to try once more
  const away = () => mood("away", "No connection", "Away");

  function listen() {
    if (source || document.hidden || !("EventSource" in window)) return;
    source = new EventSource(`${chyme.base}/api/events${last ? `?after=${encodeURIComponent(last)}` : ""}`);
    source.addEventListener("open", () => { waiting = 1000; clearTimeout(missed); missed = 0; });
    source.addEventListener("error", () => {
      if (!source) return;
      if (source.readyState !== EventSource.CLOSED) { // it comes back by itself, unless nobody is there
        if (!missed) missed = setTimeout(away, AWAY_MS);
        return;
      }
      silence();
      away();
      setTimeout(listen, waiting);
      waiting = Math.min(waiting * 2, 60000);
    });
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => {
        if (event.lastEventId) last = event.lastEventId;
        let detail = {};
        try {
          detail = JSON.parse(event.data);
        } catch (error) {
          return;
        }
        if (kind === "status") status(detail);
        document.dispatchEvent(new CustomEvent(`chyme:${kind}`, { detail }));
      });
    }
  }

  function silence() {
    if (source) source.close();
    source = null;
    clearTimeout(missed);
    missed = 0;
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(silence, HIDDEN_MS);
    else listen();
  });
  addEventListener("pagehide", silence);
  addEventListener("pageshow", (event) => { if (event.persisted) listen(); });

  /* ---- the status pill ---- */

  function mood(name, text, short = text) {
    const pill = document.getElementById("status");
    if (!pill) return;
    const words = pill.querySelector("[data-status-text]");
    if (pill.dataset.mood !== name) pill.dataset.mood = name;
    if (words.textContent !== text) words.textContent = text;
    pill.querySelector("[data-status-short]").textContent = short; // where there is little room
    pill.title = text;
  }

  /** Seconds in words somebody would say. */
  function about(seconds) {
    if (seconds < 50) return "under a minute";
    if (seconds < 5400) return `about ${Math.max(1, Math.round(seconds / 60))} min`;
    if (seconds < 36 * 3600) return `about ${Math.round(seconds / 3600)} h`;
    return `about ${Math.round(seconds / 86400)} days`;
  }

  function status(told) {
    const left = (told.todo || 0) + (told.running || 0);
    if (told.paused) mood("paused", `Paused: ${told.paused}`, "Paused");
    else if (left) {
      const when = told.eta_seconds == null ? "" : ` · ${about(told.eta_seconds)}`;
      mood("busy", `${left.toLocaleString("en")} left${when}`, left.toLocaleString("en"));
    } else if (told.again) mood("busy", `${told.again.toLocaleString("en")} tried again later`, told.again.toLocaleString("en"));
    else mood("done", "All digested", "Done");
  }

  chyme.about = about;
  if (document.getElementById("status")) listen();
})();
