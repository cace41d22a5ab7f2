/* What every page shares: asking the server, toasts, dialogs. The one global, chyme, which other scripts add to. */
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
    }
  });

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

  window.chyme = { api, fragment, at, base, mayWrite, printable, toast, problem, open, confirm };
})();
