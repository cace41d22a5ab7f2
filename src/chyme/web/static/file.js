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
    const key = old.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    if (old.matches("details[open]")) fresh.setAttribute("open", "");
    old.replaceWith(fresh);
    for (const one of fresh.querySelectorAll("details")) {
      if (!open.has(one.dataset.key)) continue;
      const before = held.get(one.dataset.key);
      if (before && one.querySelector("[data-held]")) one.querySelector("[data-held]").replaceWith(before); // no jump while it is fetched
      one.open = true;
      if (one.dataset.holds) load(one, true);
    }
    const focus = key && [...fresh.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);
    if (focus) focus.focus({ preventScroll: true });
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
      const fresh = await chyme.fragment(`/ui/file/parts?path=${encodeURIComponent(path)}`).catch(() => null);
      if (!fresh) return; // the next event asks again
      const stubs = [...fresh.querySelectorAll("[data-stub]")];
      const changed = stubs.filter((stub) => {
        const live = page.querySelector(`[data-part="${stub.dataset.stub}"]`);
        return live && live.dataset.version !== stub.dataset.version;
      });
      patch(fresh);
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

  remember(page);
  for (const kind of ["file", "digest", "document", "person"]) {
    document.addEventListener(`chyme:${kind}`, (event) => { if (!event.detail.path || event.detail.path === path) soon(); });
  }
  document.addEventListener("chyme:reset", soon);
  page.addEventListener("focusout", () => setTimeout(() => {
    for (const [name, part] of waiting) {
      const old = [...page.querySelectorAll("[data-part]")].find((one) => one.dataset.part === name);
      if (!old || busy(old)) continue;
      waiting.delete(name);
      received.set(name, part.outerHTML);
      replace(old, part);
      languages();
    }
  }, 50));

  const LATEST = 3000; // milliseconds: what was told before we listened is asked for
  let asked = 0;
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

  async function undo() {
    try {
      const told = await chyme.api("POST", `${here}/undo`);
      chyme.toast(`Undone: ${told.undone.slice(path.length + 2)}`);
    } catch (error) {
      chyme.problem(error);
    }
    refresh();
  }

  /** Show it at once, then ask; when the answer is no, show what was there. */
  async function change(body, words, before) {
    try {
      await chyme.api("PATCH", here, body);
      chyme.toast(words, { label: "Undo", action: undo });
    } catch (error) {
      if (before) before();
      chyme.problem(error);
    }
    refresh();
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
    };
    cancel.addEventListener("click", () => back(true));
    form.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); back(true); } });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const value = input.value.trim();
      const shown = holder.isConnected && kept.find((one) => one instanceof Element && one.matches("[data-value]"));
      const was = shown ? shown.textContent : "";
      back(true);
      if (value === (button.dataset.now || "")) return;
      if (shown) shown.textContent = value || (field === "title" ? path.split("/").pop() : "none");
      change({ [field]: value || null }, value ? `The ${field} is “${value}” now` : `The ${field} is taken away`, () => { if (shown) shown.textContent = was; });
    });
  }

  function untag(button) {
    const chip = button.closest("[data-tag]");
    const tag = button.dataset.untag;
    const next = chip.nextElementSibling || chip.previousElementSibling;
    chip.hidden = true;
    const focus = next && next.querySelector(".tag-away");
    (focus || page.querySelector("#new-tag")).focus({ preventScroll: true });
    change({ remove_tags: [tag] }, `Not tagged “${tag}” any more`, () => { chip.hidden = false; });
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
    list.querySelector(".muted")?.remove();
    list.append(chip);
    change({ add_tags: [tag] }, `Tagged “${tag}”`, () => chip.remove());
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
    try {
      const told = await chyme.api("POST", `${here}/rename${back ? "-back" : ""}`);
      sessionStorage.setItem("chyme-said", JSON.stringify({ text: `It is called “${told.path.split("/").pop()}” now`, back: back ? "" : told.path }));
      location.assign(`${chyme.base}/file/${chyme.at(told.path)}`);
    } catch (error) {
      chyme.problem(error);
    }
  }

  async function ask(button, method, address, body, words) {
    button.disabled = true;
    try {
      const told = await chyme.api(method, address, body);
      chyme.toast(told && told.skipped ? "Nobody here reads this kind of file; it is found by its name." : words);
    } catch (error) {
      chyme.problem(error);
    }
    button.disabled = false;
    refresh();
  }

  page.addEventListener("click", (event) => {
    const on = event.target.closest("button");
    if (!on) return;
    if (on.dataset.edit) edit(on);
    else if (on.dataset.untag) untag(on);
    else if (on.dataset.clear) {
      chyme.api("POST", `${here}/clear`, { field: on.dataset.clear })
        .then(() => chyme.toast(`What the machine said of the ${on.dataset.clear} counts again`, { label: "Undo", action: undo }))
        .catch(chyme.problem).finally(refresh);
    } else if ("undo" in on.dataset) undo();
    else if ("reprocess" in on.dataset) ask(on, "POST", `/api/documents/${chyme.at(path)}/reprocess`, undefined, "It is tried again");
    else if (on.dataset.rerun) ask(on, "POST", `/api/digest/${chyme.at(path)}?digester=${encodeURIComponent(on.dataset.rerun)}&wait=false`, undefined, "It is made again");
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
