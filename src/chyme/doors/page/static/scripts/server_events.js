/* What happens in the vault: the server's stream of events, passed on to the page as events called chyme:…. */

import { dispatch } from "./dom.js";
import { base, newestEvent } from "./page_context.js";
import { showDisconnected, showStatus } from "./status_pill.js";

const KINDS = ["file", "digest", "document", "person", "vault", "progress", "status", "reset"];
const HIDDEN_MS = 5000; // browsers allow few connections to one server: a hidden tab gives up its own
const DISCONNECTED_MS = 3000; // as long as the browser takes to try once more
let source = null;
let lastId = newestEvent;
let hideTimer = 0;
let disconnectedTimer = 0;
let retryMs = 1000;

/** Stay connected while the page is visible. */
export function listenToServer() {
  connect();
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hideTimer);
    if (document.hidden) hideTimer = setTimeout(disconnect, HIDDEN_MS);
    else connect();
  });
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", (event) => { if (event.persisted) connect(); }); // from the back/forward cache
}

function connect() {
  if (source || document.hidden) return;
  source = new EventSource(`${base}/api/events${lastId ? `?after=${encodeURIComponent(lastId)}` : ""}`);
  source.addEventListener("open", () => { retryMs = 1000; clearTimeout(disconnectedTimer); disconnectedTimer = 0; });
  source.addEventListener("error", () => {
    if (!source) return;
    if (source.readyState !== EventSource.CLOSED) { // the browser reconnects by itself, unless the server is gone
      if (!disconnectedTimer) disconnectedTimer = setTimeout(showDisconnected, DISCONNECTED_MS);
      return;
    }
    disconnect();
    showDisconnected();
    setTimeout(connect, retryMs);
    retryMs = Math.min(retryMs * 2, 60000);
  });
  for (const kind of KINDS) source.addEventListener(kind, (event) => receive(kind, event));
}

function receive(kind, event) {
  if (event.lastEventId) lastId = event.lastEventId;
  let detail = {};
  try {
    detail = JSON.parse(event.data);
  } catch (error) {
    return;
  }
  if (kind === "status") showStatus(detail);
  dispatch(`chyme:${kind}`, detail);
}

function disconnect() {
  if (source) source.close();
  source = null;
  clearTimeout(disconnectedTimer);
  disconnectedTimer = 0;
}
