/* The page of one file: editing in place, live parts, pages, boxes, and the place that was found. */
(function () {
  "use strict";

  const page = document.querySelector("[data-file]");
  if (!page) return;
  const path = page.dataset.path;
  const here = `/api/files/${chyme.at(path)}`;
  const found = new URLSearchParams(location.search);

  /* ---- parts that change while somebody looks ---- */

  const received = new Map(); // part → its HTML as the server sent it
  const waiting = new Map(); // part → its successor, as long as somebody types in it
  let asking = false;
  let again = false;
  let timer = 0;
  let leaving = false; // to the page of the same file under its new name
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
    const inside = old.contains(document.activeElement);
    const key = inside ? document.activeElement.dataset.key : null;
    if (old.matches("details[open]")) fresh.setAttribute("open", "");
    old.replaceWith(fresh);
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
      settled();
      if (changed.length) {
        const stage = await chyme.fragment(`/ui/file/stage?path=${encodeURIComponent(path)}&${found}`).catch(() => null);
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
    if (leaving || !page.isConnected) return;
    const told = await chyme.fragment(`/ui/file/gone?path=${encodeURIComponent(path)}&hash=${page.dataset.hash}`).catch(() => null);
    if (!told || leaving || !page.isConnected) return;
    const here = page.contains(document.activeElement);
    const heading = told.querySelector("h1");
    const media = page.querySelector("[data-media]");
    if (media) media.pause();
    page.replaceWith(told);
    if (here) heading.focus();
  }

  remember(page);
  for (const kind of ["file", "digest", "document", "person"]) {
    document.addEventListener(`chyme:${kind}`, (event) => { if (!event.detail.path || event.detail.path === path) soon(); });
  }
  document.addEventListener("chyme:reset", soon);
  page.addEventListener("focusout", () => setTimeout(catchUp, 50));

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

  const LATEST = 3000; // milliseconds: what was told before we listened is asked for
  let asked = 0;
  setInterval(() => { // a page is right even where nothing was told
    const state = page.querySelector("[data-state]");
    if (page.isConnected && !document.hidden && /^(processing|stale)$/.test(state.dataset.state) && Date.now() - asked > 3 * LATEST) {
      asked = Date.now();
      soon();
    }
  }, LATEST);
  document.addEventListener("chyme:status", (event) => {
    const state = page.querySelector("[data-state]");
    if (!asked || (/^(processing|stale)$/.test(state.dataset.state) && Date.now() - asked > LATEST)) {
      asked = Date.now();
      soon();
    }
    const mine = (event.detail.work || []).filter((one) => one.path === path);
    const words = page.querySelector("[data-working]");
    if (words && mine.length) words.textContent = ` · ${mine.map((one) => `${one.digester} ${Math.round((one.fraction || 0) * 100)} %`).join(", ")}`;
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

  /* ---- editing in place ---- */

  /** What went wrong, without the path: one knows where one is. */
  const plain = (error) => (error.message.startsWith(`${path}: `) ? capital(error.message.slice(path.length + 2)) : error.message);
  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

  /** Say beneath a field why what stands in it was refused; it stays there to be mended. */
  function refuse(form, input, error) {
    let told = form.querySelector("[data-refused]");
    if (!told) {
      told = Object.assign(document.createElement("p"), { className: "refused small", id: `refused-${form.dataset.editing || "tag"}` });
      told.dataset.refused = "";
      told.setAttribute("role", "alert");
      form.append(told);
      input.addEventListener("input", () => {
        told.remove();
        input.removeAttribute("aria-invalid");
        input.removeAttribute("aria-describedby");
      }, { once: true });
    }
    told.textContent = plain(error);
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", told.id);
    input.focus({ preventScroll: true });
  }

  async function undo() {
    for (const form of page.querySelectorAll("[data-editing]")) form.leave(); // what it would say is of before
    try {
      const told = await chyme.api("POST", `${here}/undo`);
      chyme.toast(`Undone: ${told.undone.slice(path.length + 2)}`);
    } catch (error) {
      chyme.problem(Object.assign(new Error(plain(error)), { told: error.told }));
    }
    refresh();
  }

  /** Ask for a change; `no` is called with the reason when it is refused. */
  async function change(body, words, no) {
    try {
      await chyme.api("PATCH", here, body);
      chyme.toast(words, { label: "Undo", action: undo });
    } catch (error) {
      no(error);
      return false;
    }
    refresh();
    return true;
  }

  function edit(button) {
    const field = button.dataset.edit;
    const holder = button.closest("[data-field]");
    const kept = [...holder.childNodes];
    const form = document.createElement("form");
    form.className = "edit-form";
    form.dataset.editing = field;
    const input = document.createElement("input");
    input.className = "input";
    input.value = button.dataset.now || (field === "title" ? holder.querySelector("[data-value]").textContent : "");
    input.setAttribute("aria-label", field === "title" ? "Title" : "Date, as in 2026-04-03, 2026-04 or 2026");
    input.maxLength = field === "title" ? 200 : 10;
    if (field === "date") input.placeholder = "2026-04-03";
    const save = Object.assign(document.createElement("button"), { className: "btn btn-primary btn-s", type: "submit", textContent: "Save" });
    const cancel = Object.assign(document.createElement("button"), { className: "btn btn-s", type: "button", textContent: "Cancel" });
    form.append(input, save, cancel);
    holder.replaceChildren(form);
    input.focus();
    input.select();
    const back = (focus) => {
      holder.replaceChildren(...kept);
      if (focus) button.focus({ preventScroll: true });
      catchUp();
    };
    form.leave = () => back(form.contains(document.activeElement));
    cancel.addEventListener("click", () => back(true));
    form.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); back(true); } });
    let sent = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const value = input.value.trim();
      if (sent) return;
      if (value === (button.dataset.now || "")) {
        back(true);
        return;
      }
      sent = true;
      const words = value ? `The ${field} is “${value}” now` : `The ${field} is taken away`;
      const taken = await change({ [field]: value || null }, words, (error) => (form.isConnected ? refuse(form, input, error) : chyme.problem(error)));
      sent = false;
      if (!taken || !form.isConnected) return;
      const shown = kept.find((one) => one instanceof Element && one.matches("[data-value]"));
      if (shown) shown.textContent = value || (field === "title" ? path.split("/").pop() : "none");
      waiting.clear(); // it was made before the change, and a newer one comes
      back(true);
    });
  }

  function untag(button) {
    const chip = button.closest("[data-tag]");
    const tag = button.dataset.untag;
    const next = chip.nextElementSibling || chip.previousElementSibling;
    chip.hidden = true;
    const focus = next && next.querySelector(".tag-away");
    (focus || page.querySelector("#new-tag")).focus({ preventScroll: true });
    change({ remove_tags: [tag] }, `Not tagged “${tag}” any more`, (error) => { chip.hidden = false; chyme.problem(error); });
  }

  page.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-add-tag]")) return;
    event.preventDefault();
    const input = event.target.querySelector("input");
    const tag = input.value.trim();
    if (!tag) return;
    input.value = "";
    const chip = Object.assign(document.createElement("li"), { className: "chip tag", textContent: tag });
    const list = page.querySelector(".tag-list");
    const none = [...list.querySelectorAll(".muted")];
    for (const one of none) one.remove();
    list.append(chip);
    change({ add_tags: [tag] }, `Tagged “${tag}”`, (error) => {
      chip.remove();
      if (!list.children.length) list.append(...none);
      if (!input.isConnected || input.value) chyme.problem(error);
      else {
        input.value = tag;
        refuse(event.target, input, error);
      }
    });
  });

  page.addEventListener("focusin", async (event) => {
    if (event.target.id !== "new-tag" || event.target.dataset.known) return;
    event.target.dataset.known = "1";
    try {
      const told = await chyme.api("GET", "/api/tags");
      const names = (told.tags || []).map((one) => one.tag || one.name || one);
      page.querySelector("#known-tags").replaceChildren(...names.slice(0, 500).map((name) => Object.assign(document.createElement("option"), { value: name })));
    } catch (error) {
      /* a tag can be typed without help */
    }
  });

  async function remove() {
    let gone;
    try {
      gone = (await chyme.api("DELETE", here)).trashed;
    } catch (error) {
      chyme.problem(error);
      return;
    }
    const name = path.split("/").pop();
    const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
    const back = async () => {
      try {
        const told = await chyme.api("POST", `/api/trash/${encodeURIComponent(gone.id)}/restore`);
        location.replace(`${chyme.base}/file/${chyme.at(told.restored.path)}`);
      } catch (error) {
        chyme.problem(error);
      }
    };
    const shown = document.createElement("div");
    shown.className = "empty";
    const words = Object.assign(document.createElement("h1"), { textContent: `“${name}” is in the trash`, tabIndex: -1 });
    const undone = Object.assign(document.createElement("button"), { className: "btn btn-primary", type: "button", textContent: "Bring it back" });
    const leave = Object.assign(document.createElement("a"), { className: "btn", textContent: folder ? "To its folder" : "To the vault" });
    leave.href = `${chyme.base}/${folder ? `?folder=${encodeURIComponent(folder)}` : ""}`;
    undone.addEventListener("click", back);
    const row = Object.assign(document.createElement("div"), { className: "row" });
    row.append(undone, leave);
    shown.append(words, row);
    page.replaceWith(shown);
    words.focus();
    chyme.toast(`“${name}” is in the trash`, { label: "Undo", action: back });
  }

  async function rename(back) {
    leaving = true;
    try {
      const told = await chyme.api("POST", `${here}/rename${back ? "-back" : ""}`);
      sessionStorage.setItem("chyme-said", JSON.stringify({ text: `It is called “${told.path.split("/").pop()}” now`, back: back ? "" : told.path }));
      location.replace(`${chyme.base}/file/${chyme.at(told.path)}`); // under the old name there is nothing to go back to
    } catch (error) {
      leaving = false;
      chyme.problem(error);
    }
  }

  /* ---- trying again, and what became of it ---- */

  const rerun = new Map(); // digester → what people call it
  let retried = null; // {begun}: whether it was seen at work since

  async function ask(button, address, words) {
    button.setAttribute("aria-disabled", "true"); // a disabled one would lose the focus
    let told = null;
    try {
      told = await chyme.api("POST", address);
      chyme.toast(told && told.skipped ? "Nobody here reads this kind of file; it is found by its name." : words);
    } catch (error) {
      chyme.problem(error);
    }
    button.removeAttribute("aria-disabled");
    refresh();
    return Boolean(told && !told.skipped);
  }

  async function retry(button) {
    retried = { begun: false };
    if (!(await ask(button, `/api/documents/${chyme.at(path)}/reprocess`, "It is being tried again"))) retried = null;
  }

  async function makeAgain(button) {
    const name = button.dataset.rerun;
    rerun.set(name, button.closest("[data-part]").querySelector("h3").firstChild.textContent.trim());
    const address = `/api/digest/${chyme.at(path)}?digester=${encodeURIComponent(name)}&wait=false`;
    if (!(await ask(button, address, "It is being made again"))) rerun.delete(name);
  }

  const reason = (detail) => (detail ? `: ${detail.split("; ")[0].replace(`${path.split("/").pop()}: `, "")}` : "");

  function outcome(state, detail) {
    if (state === "failed") chyme.toast(`It failed again${reason(detail)}`, { red: true, seconds: 10 });
    else if (state === "needs-classification") chyme.toast(`It could still not be classified${reason(detail)}`, { red: true, seconds: 10 });
    else if (state === "completed") chyme.toast("It is ready now");
    else return;
    retried = null;
  }

  document.addEventListener("chyme:document", (event) => {
    const { path: of, status, detail } = event.detail;
    if (retried && of === path && status) {
      if (status === "processing") retried.begun = true;
      else outcome(status, detail);
    }
  });
  document.addEventListener("chyme:digest", (event) => {
    const { path: of, digester, status, detail } = event.detail;
    if (of !== path || !rerun.has(digester) || !/^(completed|skipped|failed)$/.test(status)) return;
    if (status === "failed") chyme.toast(`${rerun.get(digester)} failed again${reason(detail)}`, { red: true, seconds: 10 });
    rerun.delete(digester);
  });

  /** The same for whoever missed the event. */
  function settled() {
    const state = page.querySelector("[data-state]").dataset.state;
    if (!retried) return;
    if (/^(processing|stale)$/.test(state)) retried.begun = true;
    else if (retried.begun) outcome(state);
  }

  page.addEventListener("click", (event) => {
    const on = event.target.closest("button");
    if (!on || on.getAttribute("aria-disabled") === "true") return;
    if (on.dataset.edit) edit(on);
    else if (on.dataset.untag) untag(on);
    else if (on.dataset.clear) {
      chyme.api("POST", `${here}/clear`, { field: on.dataset.clear })
        .then(() => chyme.toast(`What the machine said of the ${on.dataset.clear} counts again`, { label: "Undo", action: undo }))
        .catch(chyme.problem).finally(refresh);
    } else if ("undo" in on.dataset) undo();
    else if ("reprocess" in on.dataset) retry(on);
    else if (on.dataset.rerun) makeAgain(on);
    else if ("rename" in on.dataset) rename(false);
    else if ("delete" in on.dataset) remove();
    else if (on.dataset.turn) turn(Number(on.dataset.turn));
    else if ("zoom" in on.dataset) zoom(on);
    else if (on.dataset.show) layer(on);
  });

  const said = sessionStorage.getItem("chyme-said");
  if (said && JSON.parse(said).back === path) {
    sessionStorage.removeItem("chyme-said");
    chyme.toast(JSON.parse(said).text, { label: "Undo", action: () => rename(true) });
  } else if (said && JSON.parse(said).back === "") {
    sessionStorage.removeItem("chyme-said");
    chyme.toast(JSON.parse(said).text);
  }

  /* ---- pages ---- */

  let sheet = null;

  function pages() {
    const viewer = page.querySelector("[data-viewer-pages]");
    if (!viewer) return null;
    return { viewer, last: Number(viewer.dataset.pages), now: Number(viewer.dataset.page) };
  }

  const address = (viewer, number) => `${viewer.dataset.src}?page=${number}&width=${viewer.hasAttribute("data-larger") ? 1600 : 1200}`;

  function show(number) {
    const { viewer, last, now } = pages();
    const wanted = Math.min(Math.max(number, 1), last);
    viewer.querySelector("#page-number").value = wanted;
    if (wanted === now && sheet === null) return;
    viewer.dataset.page = wanted;
    viewer.dataset.waits = "";
    const image = viewer.querySelector("[data-sheet]");
    const next = new Image();
    sheet = next;
    next.src = address(viewer, wanted);
    const done = () => {
      if (sheet !== next) return;
      if (next.naturalWidth) {
        image.src = next.src;
        image.width = next.naturalWidth;
        image.height = next.naturalHeight;
      }
      image.alt = `Page ${wanted}`;
      delete viewer.dataset.waits;
      neighbours(viewer, wanted, last);
    };
    next.addEventListener("load", done);
    next.addEventListener("error", () => { done(); if (sheet === next) chyme.toast(`Page ${wanted} cannot be drawn`, { red: true }); });
    viewer.querySelector('[data-turn="-1"]').disabled = wanted <= 1;
    viewer.querySelector('[data-turn="1"]').disabled = wanted >= last;
    viewer.querySelector("[data-paper]").setAttribute("aria-label", `Page ${wanted} of ${last}; the arrow keys turn pages`);
    const mark = viewer.querySelector("[data-found-on]");
    if (mark) mark.toggleAttribute("hidden", mark.dataset.foundOn !== String(wanted));
    const query = new URLSearchParams(location.search);
    query.set("page", wanted);
    history.replaceState(null, "", `?${query}`);
  }

  function neighbours(viewer, number, last) {
    for (const near of [number + 1, number - 1]) if (near >= 1 && near <= last) new Image().src = address(viewer, near);
  }

  function turn(by) {
    const viewing = pages();
    if (viewing) show(viewing.now + by);
  }

  function zoom(button) {
    const { viewer, now } = pages();
    const larger = viewer.toggleAttribute("data-larger");
    button.setAttribute("aria-pressed", String(larger));
    sheet = sheet || new Image();
    show(now);
  }

  page.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-goto]")) return;
    event.preventDefault();
    const wanted = Number.parseInt(event.target.querySelector("input").value, 10);
    if (Number.isFinite(wanted)) show(wanted);
    else event.target.querySelector("input").value = pages().now;
  });

  page.addEventListener("keydown", (event) => {
    if (event.target.closest("[data-paper]") && pages()) {
      const by = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1 }[event.key];
      if (by) { event.preventDefault(); turn(by); }
      else if (event.key === "Home") { event.preventDefault(); show(1); }
      else if (event.key === "End") { event.preventDefault(); show(pages().last); }
    }
    const box = event.target.closest(".box");
    if (box) {
      const next = { ArrowRight: box.nextElementSibling, ArrowDown: box.nextElementSibling, ArrowLeft: box.previousElementSibling, ArrowUp: box.previousElementSibling }[event.key];
      if (next) {
        event.preventDefault();
        box.setAttribute("tabindex", "-1");
        next.setAttribute("tabindex", "0");
        next.focus();
      }
    }
  });

  /* ---- boxes on a picture ---- */

  function layer(button) {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    page.querySelector(`[data-layer="${button.dataset.show}"]`).toggleAttribute("hidden", !on);
  }

  function label(event) {
    const box = event.target.closest && event.target.closest(".box");
    const output = page.querySelector("[data-label]");
    if (output) output.textContent = box ? box.getAttribute("aria-label") : "";
  }
  page.addEventListener("pointerover", label);
  page.addEventListener("focusin", label);
  page.addEventListener("pointerdown", label);

  /* ---- the place that was found ---- */

  function words() {
    const plain = page.dataset.question.replace(/\b\w+:\S+/g, " ").replace(/["*]/g, " ");
    return [...new Set(plain.split(/\s+/).filter((word) => word.length > 1 && !word.startsWith("-")))].slice(0, 20);
  }

  function mark(root) {
    const wanted = words();
    if (!wanted.length) return;
    const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "giu");
    const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walk.nextNode()) nodes.push(walk.currentNode);
    for (const node of nodes) {
      const text = node.data;
      const pieces = [];
      let from = 0;
      for (const hit of text.matchAll(pattern)) {
        const marked = document.createElement("mark");
        marked.textContent = hit[0];
        pieces.push(text.slice(from, hit.index), marked);
        from = hit.index + hit[0].length;
      }
      if (pieces.length) node.replaceWith(...pieces, text.slice(from));
    }
  }

  function place() {
    const spots = page.querySelectorAll("[data-text] .found, .found[data-text]");
    for (const spot of spots) mark(spot);
    const target = page.querySelector("#found") || spots[0];
    if (target) target.scrollIntoView({ block: "center", behavior: "instant" });
    const viewing = pages();
    if (viewing) neighbours(viewing.viewer, viewing.now, viewing.last);
  }
  place();

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

  if (chyme.mayWrite) chyme.keys("e", "Edit the title", () => { const button = page.querySelector('[data-edit="title"]'); if (!button) return false; edit(button); });
})();
