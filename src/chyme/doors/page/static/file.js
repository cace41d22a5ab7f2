/* The page of one file: its parts, as they change while somebody looks. Its other scripts meet in chyme.file. */
(function () {
  "use strict";

  const page = document.querySelector("[data-file]");
  const path = page.dataset.path;

  /** For the scripts that follow. Events tell them the rest: chyme:parts when the parts came, chyme:stage when the stage is new. */
  const file = {
    page,
    path,
    here: `/api/files/${chyme.at(path)}`,
    leaving: false, // to the page of the same file under its new name
    refresh,
    catchUp,
    forgetWaiting: () => waiting.clear(),
    pressed,
  };
  chyme.file = file;

  /** Buttons come and go with their parts, so the page listens for them. */
  function pressed(selector, act) {
    page.addEventListener("click", (event) => {
      const on = event.target.closest("button");
      if (on && on.matches(selector) && on.getAttribute("aria-disabled") !== "true") act(on);
    });
  }

  /* ---- parts that change while somebody looks ---- */

  const received = new Map(); // part → its HTML as the server sent it
  const waiting = new Map(); // part → its successor, as long as somebody types in it
  let asking = false;
  let again = false;
  let timer = 0;
  const PATIENCE = 20000; // milliseconds for an answer

  function remember(root) {
    for (const part of root.querySelectorAll("[data-part]")) received.set(part.dataset.part, part.outerHTML);
  }

  function busy(part) {
    const on = document.activeElement;
    return part.querySelector("[data-editing]") || (on && part.contains(on) && /^(INPUT|TEXTAREA)$/.test(on.tagName) && on.value);
  }

  function replace(old, fresh) {
    const open = new Set([...old.querySelectorAll("details[open]")].map((one) => one.dataset.key));
    const held = new Map([...old.querySelectorAll("[data-held]")].map((one) => [one.parentElement.dataset.key, one]));
    const begun = [...old.querySelectorAll("input[data-key]")].filter((one) => one.value !== one.defaultValue);
    const inside = old.contains(document.activeElement);
    const key = inside ? document.activeElement.dataset.key : null;
    if (old.matches("details[open]")) fresh.setAttribute("open", "");
    old.replaceWith(fresh);
    for (const one of begun) { // half a word is somebody's work
      const again = [...fresh.querySelectorAll("input")].find((input) => input.dataset.key === one.dataset.key);
      if (again) again.value = one.value;
    }
    for (const one of fresh.querySelectorAll("details")) {
      if (!open.has(one.dataset.key)) continue;
      const before = held.get(one.dataset.key);
      if (before && one.querySelector("[data-held]")) one.querySelector("[data-held]").replaceWith(before); // no jump while it is fetched
      one.open = true;
      if (one.dataset.holds) load(one, true);
    }
    if (!inside) return;
    const same = key && [...fresh.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);
    const next = same || fresh.querySelector("button:not([disabled]), a[href]") || fresh;
    if (next === fresh) fresh.tabIndex = -1; // whoever waits for a step to end stays here meanwhile
    next.focus({ preventScroll: true });
  }

  function patch(fresh) {
    for (const part of fresh.querySelectorAll("[data-part]")) {
      const name = part.dataset.part;
      const html = part.outerHTML;
      if (received.get(name) === html) continue;
      const old = [...page.querySelectorAll("[data-part]")].find((one) => one.dataset.part === name);
      if (old && busy(old)) {
        waiting.set(name, part);
        continue;
      }
      received.set(name, html);
      waiting.delete(name);
      if (old) replace(old, part);
      else if (part.closest("[data-list]")) insert(part);
    }
    languages();
    const title = page.querySelector("h1[data-value]");
    if (title) document.title = `${title.textContent} · chyme`;
  }

  /** A digest that was not there before, at its place in the order. */
  function insert(part) {
    const list = page.querySelector("[data-list]");
    const before = part.previousElementSibling && part.previousElementSibling.dataset.part;
    const beside = before && [...list.querySelectorAll("[data-part]")].find((one) => one.dataset.part === before);
    if (beside) beside.after(part);
    else list.append(part);
  }

  async function refresh() {
    if (!page.isConnected) return;
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    try {
      const answer = await chyme.fragment(`/ui/file/parts?path=${encodeURIComponent(path)}`, AbortSignal.timeout(PATIENCE)).catch((error) => error);
      if (answer.status === 404) await gone();
      if (answer instanceof Error || !page.isConnected) return; // the next event asks again
      const fresh = answer;
      const stubs = [...fresh.querySelectorAll("[data-stub]")];
      const changed = stubs.filter((stub) => {
        const live = page.querySelector(`[data-part="${stub.dataset.stub}"]`);
        return live && live.dataset.version !== stub.dataset.version;
      });
      patch(fresh);
      document.dispatchEvent(new CustomEvent("chyme:parts"));
      if (changed.length) {
        const stage = await chyme.fragment(`/ui/file/stage?path=${encodeURIComponent(path)}&${location.search.slice(1)}`).catch(() => null);
        if (!stage) return;
        for (const stub of changed) {
          const part = stage.querySelector(`[data-part="${stub.dataset.stub}"]`);
          const live = page.querySelector(`[data-part="${stub.dataset.stub}"]`);
          const media = live && live.querySelector("[data-media]");
          if (!part || !live || (media && (!media.paused || media.currentTime > 0))) continue; // nobody is interrupted
          replace(live, part);
        }
        document.dispatchEvent(new CustomEvent("chyme:stage"));
      }
    } finally {
      asking = false;
      if (again) {
        again = false;
        soon();
      }
    }
  }

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(refresh, 250);
  }

  /** It was moved or deleted while somebody looked at it: say so, and where it is now. */
  async function gone() {
    if (file.leaving || !page.isConnected) return;
    const told = await chyme.fragment(`/ui/file/gone?path=${encodeURIComponent(path)}&hash=${page.dataset.hash}`).catch(() => null);
    if (!told || file.leaving || !page.isConnected) return;
    const here = page.contains(document.activeElement);
    const heading = told.querySelector("h1");
    const media = page.querySelector("[data-media]");
    if (media) media.pause();
    page.replaceWith(told);
    if (here) heading.focus();
  }

  function catchUp() {
    for (const [name, part] of waiting) {
      const old = [...page.querySelectorAll("[data-part]")].find((one) => one.dataset.part === name);
      if (!old || busy(old)) continue;
      waiting.delete(name);
      received.set(name, part.outerHTML);
      replace(old, part);
      languages();
    }
  }

  remember(page);
  for (const kind of ["file", "digest", "document", "person"]) {
    document.addEventListener(`chyme:${kind}`, ({ detail }) => { if (!detail.path || detail.path === path || (detail.status === "moved" && detail.detail === path)) soon(); });
  }
  document.addEventListener("chyme:reset", soon);
  page.addEventListener("focusout", () => setTimeout(catchUp, 50));

  /** What people call a digester: its card says so. */
  const called = (name) => document.getElementById(`digest-${name}`)?.firstChild.textContent.trim() || name;

  document.addEventListener("chyme:status", (event) => {
    const mine = (event.detail.work || []).filter((one) => one.path === path);
    const words = page.querySelector("[data-working]");
    if (words && mine.length) words.textContent = ` · ${mine.map((one) => `${called(one.digester)} ${Math.round((one.fraction || 0) * 100)} %`).join(", ")}`;
    const whole = page.querySelector("[data-settled]");
    if (whole && mine.length) whole.value = Number(whole.dataset.settled) + mine.reduce((sum, one) => sum + (one.fraction || 0), 0);
    for (const one of mine) {
      const bar = page.querySelector(`[data-fraction="${CSS.escape(one.digester)}"]`);
      if (bar && one.fraction) bar.value = one.fraction;
    }
  });

  /* ---- what a digest holds, fetched when somebody looks ---- */

  async function load(details, anew) {
    const into = details.querySelector("[data-held]");
    if (!into || (details.dataset.loaded && !anew)) return;
    details.dataset.loaded = "1";
    try {
      const told = await chyme.fragment(`/ui/file/content?path=${encodeURIComponent(path)}&digester=${encodeURIComponent(details.dataset.holds)}`);
      into.replaceChildren(told);
    } catch (error) {
      into.textContent = error.message;
      delete details.dataset.loaded;
    }
  }

  page.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.dataset.holds) load(event.target);
  }, true);

  /* ---- languages by their names ---- */

  function languages() {
    const language = page.querySelector("[data-language]");
    if (!language) return;
    try {
      language.textContent = new Intl.DisplayNames(["en"], { type: "language" }).of(language.dataset.language) || language.textContent;
    } catch (error) {
      /* the code says it, too */
    }
  }
  languages();

  /* ---- more like this ---- */

  (async () => {
    const into = page.querySelector("[data-alike]");
    try {
      into.replaceChildren(await chyme.fragment(`/ui/file/similar?path=${encodeURIComponent(path)}`));
    } catch (error) {
      into.replaceChildren(Object.assign(document.createElement("p"), { className: "muted small", textContent: "Nothing to compare yet." }));
    }
  })();
})();
