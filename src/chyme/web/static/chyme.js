/* What every page shares: events from the server, asking it, toasts, keys, dialogs, the look. One global: chyme. */
(function () {
  "use strict";

  const root = document.documentElement;
  const base = root.dataset.base || "";
  const mayWrite = !root.hasAttribute("data-reader");

  /* ---- asking the server ---- */

  const AWAY = "The server does not answer; is chyme still running?";
  const signIn = () => location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  let signedOut = null; // the words that say so, while they can be seen

  /** The page stays until they want to go: what was typed can still be copied. Back they come to this page. */
  function outside(unsaved) {
    const words = unsaved ? "You are signed out, so this was not saved." : "You are signed out.";
    if (unsaved || !signedOut?.isConnected) {
      signedOut?.remove();
      signedOut = toast(words, { red: true, label: "Sign in", action: signIn, seconds: 600 });
    }
    return Object.assign(new Error(words), { told: true });
  }

  async function api(method, path, body) {
    const asked = { method, headers: { Accept: "application/json" } };
    if (body instanceof FormData) asked.body = body;
    else if (body !== undefined) {
      asked.headers["Content-Type"] = "application/json";
      asked.body = JSON.stringify(body);
    }
    let answer;
    try {
      answer = await fetch(base + path, asked);
    } catch (error) {
      throw new Error(AWAY);
    }
    if (answer.status === 401) throw outside(method !== "GET");
    const text = await answer.text();
    let told = null;
    try {
      told = text ? JSON.parse(text) : null;
    } catch (error) {
      told = null;
    }
    if (!answer.ok) throw new Error((told && told.detail) || `The server answered ${answer.status}.`);
    if (method !== "GET") disarm();
    return told;
  }

  async function fragment(path, signal) {
    let answer;
    try {
      answer = await fetch(base + path, { headers: { Accept: "text/html" }, signal });
    } catch (error) {
      throw error.name === "AbortError" ? error : new Error(AWAY);
    }
    if (answer.redirected && new URL(answer.url).pathname === "/login") throw outside(false);
    if (!answer.ok) throw Object.assign(new Error(`The server answered ${answer.status}.`), { status: answer.status });
    const holder = document.createElement("template");
    holder.innerHTML = await answer.text();
    return holder.content;
  }

  /** A name without characters that turn the line around or cannot be seen; the server shows names alike. */
  const printable = (text) => text.replace(
    /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

  /** A file's path as part of an address. */
  const at = (path) => path.split("/").map(encodeURIComponent).join("/");

  /* ---- toasts ---- */

  /** Undo takes back what was done last: what was offered for something before that would take back another thing. */
  function disarm() {
    for (const old of document.querySelectorAll("[data-undoes-last]")) old.remove();
  }

  /** `own`: the action knows by itself what it takes back, whatever else was done since. */
  function toast(text, { label, action, red = false, seconds = 6, own = false } = {}) {
    const region = document.getElementById("toasts");
    if (!region) return;
    const undoes = label === "Undo" && !own;
    if (undoes) disarm();
    text = printable(text);
    for (const old of [...region.children]) {
      if (old.firstChild.textContent === text) old.remove(); // said once is enough
    }
    const shown = document.createElement("div");
    shown.className = red ? "toast toast-red" : "toast";
    if (undoes) shown.dataset.undoesLast = "";
    const words = document.createElement("span");
    words.textContent = text;
    shown.append(words);
    const away = () => shown.remove();
    if (label && action) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "toast-action";
      button.textContent = label;
      button.addEventListener("click", () => { away(); action(); });
      shown.append(button);
    }
    const close = document.createElement("button");
    close.type = "button";
    close.setAttribute("aria-label", "Dismiss");
    close.textContent = "×";
    close.addEventListener("click", away);
    shown.append(close);
    region.append(shown);
    while (region.children.length > 3) region.firstElementChild.remove();
    let timer = setTimeout(away, (label ? Math.max(seconds, 10) : seconds) * 1000);
    shown.addEventListener("pointerenter", () => clearTimeout(timer));
    shown.addEventListener("focusin", () => clearTimeout(timer));
    shown.addEventListener("pointerleave", () => { timer = setTimeout(away, 3000); });
    return shown;
  }

  function problem(error) {
    const words = error.message || String(error);
    if (error.told) return undefined;
    if (/nothing (left )?to undo/.test(words)) return toast("There is nothing left to undo.");
    return toast(words, { red: true, seconds: 10 });
  }

  /* ---- events ---- */

  const KINDS = ["file", "digest", "document", "person", "vault", "progress", "status", "reset"];
  const HIDDEN_MS = 30000; // browsers allow few connections for one server: a tab nobody looks at gives up its own
  let source = null;
  let last = document.documentElement.dataset.after || null; // what happened before, this page shows already
  let hiding = 0;
  let waiting = 1000;
  let missed = 0;
  const AWAY_MS = 3000; // as long as it takes to try once more
  const away = () => mood("away", "No connection", "Away");

  function listen() {
    if (source || !("EventSource" in window)) return;
    source = new EventSource(`${base}/api/events${last ? `?after=${encodeURIComponent(last)}` : ""}`);
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

  /* ---- keys ---- */

  const known = new Map(); // "x" or "g v" → {text, fn}
  let first = "";
  let firstTimer = 0;

  function keys(key, text, fn) {
    known.set(key, { text, fn });
  }

  function typing(target) {
    return target instanceof HTMLElement &&
      (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
      !(target instanceof HTMLInputElement && /^(checkbox|radio|button|range)$/.test(target.type));
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    const wanted = known.get(first ? `${first} ${event.key}` : event.key);
    clearTimeout(firstTimer);
    if (wanted) {
      first = "";
      if (wanted.fn(event) !== false) event.preventDefault();
    } else if (!first && [...known.keys()].some((key) => key.startsWith(`${event.key} `))) {
      first = event.key;
      firstTimer = setTimeout(() => { first = ""; }, 1200);
    } else first = "";
  });

  /* ---- dialogs ---- */

  function open(dialog) {
    if (dialog && !dialog.open) dialog.showModal();
  }

  document.addEventListener("click", (event) => {
    const on = event.target instanceof Element ? event.target : null;
    if (!on) return;
    if (on.closest("[data-close]")) on.closest("dialog").close();
    else if (on instanceof HTMLDialogElement && on.matches(".dialog")) {
      const box = on.getBoundingClientRect(); // a click on the shade beside it
      if (event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom) on.close();
    } else if (on.closest("[data-help]")) help();
    else if (on.closest("[data-more]")) open(document.getElementById("more"));
    else if (on.closest("[data-theme-toggle]")) toggleTheme();
  });

  function help() {
    document.getElementById("more")?.close();
    const list = document.querySelector("[data-keys]");
    if (!list) return;
    list.replaceChildren();
    for (const [key, { text }] of known) {
      const term = document.createElement("dt");
      for (const part of key.split(" ")) {
        const cap = document.createElement("kbd");
        cap.textContent = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" }[part] || part;
        term.append(cap, " ");
      }
      const what = document.createElement("dd");
      what.textContent = text;
      if (text) list.append(term, what);
    }
    open(document.getElementById("help"));
  }

  /** Ask before something that cannot be taken back. */
  function confirm(title, text, label) {
    return new Promise((answer) => {
      const dialog = document.createElement("dialog");
      dialog.className = "dialog";
      dialog.setAttribute("aria-label", title);
      const body = document.createElement("div");
      body.className = "dialog-body";
      const head = document.createElement("h2");
      head.textContent = printable(title);
      const words = document.createElement("p");
      words.textContent = text;
      const foot = document.createElement("div");
      foot.className = "dialog-foot";
      const no = document.createElement("button");
      no.type = "button";
      no.className = "btn";
      no.textContent = "Cancel";
      const yes = document.createElement("button");
      yes.type = "button";
      yes.className = "btn btn-danger";
      yes.textContent = label;
      foot.append(no, yes);
      body.append(head, words, foot);
      dialog.append(body);
      document.body.append(dialog);
      let said = false;
      no.addEventListener("click", () => dialog.close());
      yes.addEventListener("click", () => { said = true; dialog.close(); });
      dialog.addEventListener("close", () => { dialog.remove(); answer(said); });
      dialog.showModal();
    });
  }

  /* ---- light and dark ---- */

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);

  function showTheme() {
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.querySelector("use").setAttribute("href", `/static/icons.svg#${isDark() ? "sun" : "moon"}`);
      const label = button.querySelector("[data-theme-label]");
      if (label) label.textContent = isDark() ? "Light" : "Dark";
    }
  }

  function toggleTheme() {
    const next = isDark() ? "light" : "dark";
    root.dataset.theme = next;
    try {
      localStorage.setItem("chyme-theme", next);
    } catch (error) {
      /* it holds for this page, then */
    }
    showTheme();
  }

  dark.addEventListener("change", showTheme);
  showTheme();

  /* ---- the frame's own keys ---- */

  const search = document.getElementById("search");
  keys("/", "Search", () => { if (!search) return false; search.focus(); search.select(); });
  if (mayWrite) keys("n", "Add files, a link or a note", () => document.dispatchEvent(new CustomEvent("chyme:add")));
  for (const [letter, path, name] of [["v", "/", "vault"], ["p", "/people", "people"], ["t", "/tags", "tags"], ["a", "/activity", "activity"], ["s", "/settings", "settings"]]) {
    keys(`g ${letter}`, `Go to ${name}`, () => location.assign(base + path));
  }
  keys("?", "Show these keys", help);

  const vaults = document.getElementById("vault-switch");
  if (vaults) vaults.addEventListener("change", () => location.assign(vaults.value));

  window.chyme = { api, fragment, at, base, mayWrite, printable, toast, problem, keys, open, confirm, about };
  if (document.getElementById("status")) listen();
})();
