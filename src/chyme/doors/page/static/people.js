/* People: hearing them, naming them, and saying who is who. */
(function () {
  "use strict";

  const page = document.querySelector("[data-people]");
  if (!page) return;
  const one = page.dataset.one;
  const LISTEN = 6; // seconds of a voice
  const sound = new Audio();
  let button = null;
  let until = 0;

  /* ---- hearing ---- */

  function quiet() {
    sound.pause();
    if (button) {
      button.setAttribute("aria-pressed", "false");
      button.querySelector("use").setAttribute("href", "/static/icons.svg#play");
    }
    button = null;
  }

  sound.addEventListener("timeupdate", () => { if (sound.currentTime >= until) quiet(); });
  sound.addEventListener("ended", quiet);

  async function listen(on) {
    const same = button === on;
    quiet();
    if (same) return;
    let { src, from, until: end } = on.dataset;
    if (!src) {
      const told = await chyme.api("GET", `/api/people/${on.dataset.listen}`);
      const voice = told.voices.find((each) => each.start !== null) || told.voices[0];
      src = `${chyme.base}/api/raw/${chyme.at(voice.path)}`;
      from = voice.start || 0;
      end = voice.end || 5;
    }
    const start = Number(from);
    until = Math.min(Number(end), start + LISTEN);
    button = on;
    on.setAttribute("aria-pressed", "true");
    on.querySelector("use").setAttribute("href", "/static/icons.svg#pause");
    sound.src = `${src}#t=${start},${until}`;
    try {
      await sound.play();
    } catch (error) {
      quiet();
      throw new Error("This browser cannot play the recording.");
    }
  }

  /* ---- deciding ---- */

  let asking = false;
  let again = false;
  let aim = null; // who is looked at next, where what was pressed has nothing more to do
  const MARKS = ["edit-name", "choose", "listen", "choose-voice", "move", "src", "forget", "split", "undo"];
  const ROWS = "[data-person], [data-voice]";

  /** Where the person is: on which button, and in which row. */
  function place() {
    const on = document.activeElement;
    if (!page.querySelector("[data-list]").contains(on)) return null;
    const mark = MARKS.find((name) => on.hasAttribute(`data-${name}`));
    const rows = [...page.querySelectorAll(ROWS)];
    return { same: mark && `[data-${mark}="${CSS.escape(on.getAttribute(`data-${mark}`))}"]`, row: rows.indexOf(on.closest(ROWS)), mark };
  }

  /** There again, or in the row that has taken its place. */
  function stay(at) {
    const rows = [...page.querySelectorAll(ROWS)];
    const row = at.row >= 0 ? rows[Math.min(at.row, rows.length - 1)] : null;
    const near = row && ((at.mark && row.querySelector(`[data-${at.mark}]`)) || row.querySelector("button, a"));
    const next = (at.same && page.querySelector(at.same)) || near || document.getElementById("main");
    next.focus({ preventScroll: true });
  }

  async function show() {
    if (page.querySelector("[data-editing]")) return;
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    try {
      const fresh = await chyme.fragment(one ? `/ui/people/${one}` : "/ui/people");
      const chosen = new Set([...page.querySelectorAll("input:checked")].map((each) => each.dataset.choose || each.dataset.chooseVoice));
      const at = aim ? { same: aim, row: 0 } : place();
      aim = null;
      quiet();
      page.querySelector("[data-list]").replaceWith(fresh);
      for (const box of page.querySelectorAll("[data-choose], [data-choose-voice]")) box.checked = chosen.has(box.dataset.choose || box.dataset.chooseVoice);
      choose();
      if (at) stay(at);
    } catch (error) {
      if (one && error.status === 404) location.assign(`${chyme.base}/people`); // they are somebody else now
    } finally {
      asking = false;
      if (again) {
        again = false;
        show();
      }
    }
  }

  async function undo() {
    try {
      const told = await chyme.api("POST", "/api/people/undo");
      chyme.toast(told.done[0].toUpperCase() + told.done.slice(1));
    } catch (error) {
      chyme.problem(error);
    }
    show();
  }

  async function decide(method, path, body, next) {
    try {
      const told = await chyme.api(method, path, body);
      if (next) aim = next;
      chyme.toast(told.done[0].toUpperCase() + told.done.slice(1), { label: "Undo", action: undo });
      return told;
    } catch (error) {
      chyme.problem(error);
      return null;
    } finally {
      show();
    }
  }

  const picked = (name) => [...page.querySelectorAll(`[data-${name}]:checked`)].map((each) => Number(each.getAttribute(`data-${name}`)));

  function choose() {
    const people = picked("choose").length;
    const merge = page.querySelector("[data-merge]");
    if (merge) {
      merge.disabled = people < 2;
      merge.textContent = people < 2 ? "Same person" : `These ${people} are one person`;
    }
    const split = page.querySelector("[data-split]");
    if (split) split.disabled = !picked("choose-voice").length;
  }

  /** Whoever has a name keeps it: the first of them in the list. */
  function merge() {
    const [first, ...others] = picked("choose");
    for (const box of page.querySelectorAll("input:checked")) box.checked = false;
    decide("POST", `/api/people/${first}/merge`, { others }, `[data-edit-name="${first}"]`);
  }

  function rename(on) {
    const id = on.dataset.editName;
    const holder = page.querySelector(`[data-name-of="${id}"]`);
    const { form, input, back } = chyme.inPlace(holder, on, { className: "name-form", editing: id, value: on.dataset.now, label: "Name", maxLength: 100, placeholder: "Name" });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const name = input.value.trim();
      back();
      if (name === on.dataset.now) return;
      const shown = holder.querySelector("h1, h2 a");
      if (shown && name) shown.textContent = name;
      decide("PATCH", `/api/people/${id}`, { name: name || null });
    });
  }

  page.addEventListener("click", (event) => {
    const on = event.target.closest("button");
    if (!on) return;
    if (on.matches(".listen")) listen(on).catch(chyme.problem);
    else if (on.dataset.editName) rename(on);
    else if ("merge" in on.dataset) merge();
    else if ("undo" in on.dataset) undo();
    else if (on.dataset.forget) decide("DELETE", `/api/people/${on.dataset.forget}`);
    else if (on.dataset.split) decide("POST", `/api/people/${on.dataset.split}/split`, { voices: picked("choose-voice") });
  });
  page.addEventListener("change", (event) => {
    if (event.target.dataset.move && event.target.value) {
      const person = event.target.value === "new" ? null : Number(event.target.value);
      decide("POST", `/api/voices/${event.target.dataset.move}/move`, { person });
    }
    choose();
  });
  document.addEventListener("chyme:person", (event) => { if (!event.detail.path) show(); });
  choose();
})();
