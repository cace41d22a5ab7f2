// The tags page: find as you type, more as you scroll, choose and merge, rename, ban; undo in every toast.
(() => {
  "use strict";

  const by = (id) => document.getElementById(id);
  const list = by("tags-list");
  if (!list) return;
  const words = by("tags-q");
  const order = by("tags-sort");
  const chosen = new Map(); // tag → files
  let asked = null;

  const address = (offset) => `/ui/tags/list?q=${encodeURIComponent(words.value)}&sort=${order.value}&offset=${offset}`;

  async function show() {
    if (asked) asked.abort();
    asked = new AbortController();
    let fresh;
    try {
      fresh = await chyme.fragment(address(0), asked.signal);
    } catch {
      return; // something newer is asked for, or the server is away
    }
    const at = place();
    list.replaceChildren(fresh);
    ready();
    if (at) stay(at);
  }

  const DOES = ["[data-rename]", "[data-ban]", ".tag-check", ".tag-name"];
  let aim = ""; // the tag that is looked at next: what another one has become

  /** Where the person is: on which tag, and on which of its buttons. */
  function place() {
    const row = document.activeElement.closest("#tags-list .tag-row");
    if (!row && !aim) return null;
    const on = row && DOES.find((one) => document.activeElement.matches(one));
    return { tag: aim || row.dataset.tag, index: row ? [...list.querySelectorAll(".tag-row")].indexOf(row) : 0, on: on || ".tag-name" };
  }

  /** There again, or on the tag that has taken its place. */
  function stay(at) {
    aim = "";
    const rows = [...list.querySelectorAll(".tag-row")];
    const row = rows.find((one) => one.dataset.tag === at.tag) || rows[Math.min(at.index, rows.length - 1)];
    (row ? row.querySelector(at.on) || row.querySelector("a") : words).focus({ preventScroll: true });
  }

  function ready() {
    for (const box of list.querySelectorAll(".tag-check")) box.checked = chosen.has(box.closest("li").dataset.tag);
    const more = list.querySelector(".tag-more");
    if (more) watcher.observe(more);
  }

  async function more(row) {
    watcher.unobserve(row);
    const link = row.querySelector("[data-next]");
    const focused = document.activeElement === link;
    let rows;
    try {
      rows = await chyme.fragment(address(link.dataset.next));
    } catch {
      return;
    }
    const first = rows.querySelector("a");
    if (!row.isConnected) return;
    row.replaceWith(rows);
    if (focused && first) first.focus({ preventScroll: true });
    ready();
  }

  const watcher = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) more(one.target);
  }, { rootMargin: "600px" });

  let typing = 0;
  words.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(show, 120);
  });
  order.addEventListener("change", show);
  by("tags-form").addEventListener("submit", (event) => { event.preventDefault(); show(); });

  const renewOthers = () => {
    chyme.renew(by("tags-decided"), "/ui/tags/decided");
    chyme.renew(by("tags-similar"), "/ui/tags/similar");
  };

  function anew() {
    show();
    renewOthers();
  }

  async function decide(what, body) {
    try {
      const answer = await chyme.api("POST", `/api/tags/${what}`, body);
      const files = answer.files === 1 ? "1 file" : `${answer.files.toLocaleString("en")} files`;
      chyme.toast(`${answer.done} (${files})`, { label: "Undo", action: () => decide("undo") });
      anew();
      return true;
    } catch (error) {
      chyme.problem(error);
      return false;
    }
  }

  function showChosen() {
    const bar = by("tags-chosen");
    if (!bar) return;
    bar.hidden = chosen.size === 0;
    by("tags-count").textContent = chosen.size === 1 ? "1 tag chosen" : `${chosen.size} tags chosen`;
    by("merge").disabled = chosen.size < 2;
  }

  function clear() {
    chosen.clear();
    ready();
    showChosen();
  }

  let renaming = "";

  function rename(tag) {
    renaming = tag;
    by("rename-title").textContent = `Rename “${tag}”`;
    by("rename-new").value = tag;
    chyme.open(by("rename-dialog"));
    by("rename-new").select();
  }

  async function renamed() {
    const wanted = by("rename-new").value.trim();
    by("rename-dialog").close();
    if (!wanted || wanted.toLowerCase() === renaming) return;
    const found = await chyme.api("GET", `/api/tags?prefix=${encodeURIComponent(wanted)}&limit=100`).catch(() => null);
    const there = found && found.tags.find((one) => one.name === wanted.toLowerCase());
    if (there) merge(new Map([[there.name, there.files], [renaming, 0]]));
    else {
      aim = wanted.toLowerCase();
      if (!(await decide("rename", { old: renaming, new: wanted }))) aim = "";
    }
  }

  let merging = [];

  function merge(tags) {
    merging = [...tags.keys()];
    const most = [...tags.entries()].sort((one, other) => other[1] - one[1])[0][0];
    const group = by("merge-into");
    group.querySelectorAll("label").forEach((one) => one.remove());
    for (const tag of merging) {
      const label = document.createElement("label");
      label.className = "check";
      const radio = document.createElement("input");
      radio.type = "radio";
      radio.name = "into";
      radio.value = tag;
      radio.checked = tag === most;
      const name = document.createElement("span");
      name.textContent = tag;
      label.append(radio, name);
      group.append(label);
    }
    chyme.open(by("merge-dialog"));
    group.querySelector(":checked").focus();
  }

  async function merged() {
    const into = by("merge-into").querySelector(":checked").value;
    by("merge-dialog").close();
    aim = into;
    if (await decide("merge", { into, others: merging.filter((one) => one !== into) })) clear();
    else aim = "";
  }

  document.addEventListener("click", (event) => {
    const row = event.target.closest(".tag-row");
    if (event.target.closest("[data-rename]")) rename(row.dataset.tag);
    else if (event.target.closest("[data-ban]")) decide("ban", { tag: row.dataset.tag });
    else if (event.target.closest("[data-next]")) {
      event.preventDefault();
      more(event.target.closest(".tag-more"));
    } else if (event.target.closest("[data-merge-pair]")) {
      const pair = event.target.closest(".pair").dataset;
      merge(new Map([[pair.one, 1], [pair.other, 0]]));
    }
  });

  list.addEventListener("change", (event) => {
    const row = event.target.closest(".tag-row");
    if (!row) return;
    if (event.target.checked) chosen.set(row.dataset.tag, Number(row.dataset.files));
    else chosen.delete(row.dataset.tag);
    showChosen();
  });

  if (chyme.mayWrite) {
    by("merge").addEventListener("click", () => merge(chosen));
    by("clear").addEventListener("click", clear);
    by("rename-form").addEventListener("submit", (event) => { event.preventDefault(); renamed(); });
    by("merge-form").addEventListener("submit", (event) => { event.preventDefault(); merged(); });
  }
  document.addEventListener("chyme:acted", anew);
  chyme.keys("f", "Find a tag", () => { words.focus(); words.select(); });

  ready();
  chyme.renew(by("tags-similar"), "/ui/tags/similar");
})();
