/* Choosing files, and what can be done with the chosen: digest again, download, delete. */
(function () {
  "use strict";

  const bar = document.getElementById("actions");
  const vault = document.getElementById("vault");
  if (!bar || !vault) return;
  const run = document.getElementById("run");
  const digesters = document.getElementById("run-digester");
  const plan = run.querySelector("[data-plan]");
  const start = run.querySelector("[data-start]");
  const chosen = new Set(); // paths: cards come and go
  let everything = false; // all that the question finds, shown or not
  let last = null; // where a range begins
  let planning = null;

  const boxes = () => [...vault.querySelectorAll("[data-select]")];
  const pathOf = (box) => box.closest("[data-path]").dataset.path;
  const asked = () => document.getElementById("results").dataset;

  function show() {
    const count = everything ? Number(asked().all) : chosen.size;
    bar.hidden = !count;
    document.body.classList.toggle("selecting", Boolean(count));
    bar.querySelector("[data-count]").textContent = count.toLocaleString("en");
    const all = bar.querySelector("[data-select-all]");
    all.hidden = everything || Number(asked().all) <= chosen.size;
    bar.querySelector("[data-all]").textContent = Number(asked().all).toLocaleString("en");
    const download = bar.querySelector("[data-download]");
    download.hidden = everything || chosen.size !== 1;
    if (!download.hidden) download.href = `${chyme.base}/api/raw/${chyme.at([...chosen][0])}?download=true`;
    bar.querySelector("[data-delete]").setAttribute("aria-disabled", String(everything));
    for (const box of boxes()) box.checked = everything || chosen.has(pathOf(box));
  }

  function clear() {
    chosen.clear();
    everything = false;
    last = null;
    show();
  }

  function choose(box, on, range) {
    if (everything) clear();
    const all = boxes();
    const from = range && last ? all.findIndex((one) => pathOf(one) === last) : -1;
    const to = all.indexOf(box);
    const some = from < 0 ? [box] : all.slice(Math.min(from, to), Math.max(from, to) + 1);
    for (const one of some) {
      if (on) chosen.add(pathOf(one));
      else chosen.delete(pathOf(one));
    }
    last = pathOf(box);
    show();
  }

  vault.addEventListener("click", (event) => {
    if (event.target.matches("[data-select]")) choose(event.target, event.target.checked, event.shiftKey);
  });
  document.addEventListener("chyme:cards", () => { if (chosen.size || everything) show(); });
  chyme.keys("x", "Select the file; with Shift, all from the last one", toggle);
  chyme.keys("X", "", toggle);
  function toggle(event) {
    const box = document.activeElement?.closest?.("[data-path]")?.querySelector("[data-select]");
    if (!box) return false;
    choose(box, event.shiftKey || !chosen.has(pathOf(box)), event.shiftKey);
    return true;
  }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || bar.hidden || document.querySelector("dialog[open]") || event.target.matches?.("input[type=search]")) return;
    event.preventDefault();
    clear();
  }, true);
  bar.querySelector("[data-clear]").addEventListener("click", clear);
  bar.querySelector("[data-select-all]").addEventListener("click", () => { everything = true; show(); });
  document.addEventListener("chyme:asked", clear); // nobody deletes what they do not see

  /* ---- deleting ---- */

  bar.querySelector("[data-delete]").addEventListener("click", async () => {
    if (everything) {
      chyme.toast("All that a question finds cannot be deleted at once; select the files themselves.");
      return;
    }
    const paths = [...chosen];
    clear();
    const gone = [];
    try {
      for (const path of paths) {
        gone.push((await chyme.api("DELETE", `/api/files/${chyme.at(path)}`)).trashed);
        chyme.vault.cardOf(path)?.remove();
      }
    } catch (error) {
      chyme.problem(error);
    }
    if (!gone.length) return;
    chyme.vault.renewSoon();
    chyme.toast(gone.length === 1 ? "1 file is in the trash." : `${gone.length} files are in the trash.`, { label: "Undo", action: () => back(gone), own: true });
  });

  async function back(gone) {
    try {
      for (const one of gone) await chyme.api("POST", `/api/trash/${encodeURIComponent(one.id)}/restore`);
      chyme.toast(gone.length === 1 ? "The file is back." : "The files are back.");
    } catch (error) {
      chyme.problem(error);
    }
    if (chyme.vault.searching()) chyme.vault.go(location.search, "");
    else chyme.vault.renewSoon();
  }

  /* ---- digesting again ---- */

  function wanted() {
    const told = { mode: run.querySelector("[name=run-reset]:checked").value };
    if (digesters.value) told.digesters = [digesters.value];
    if (!everything) told.paths = [...chosen];
    else if (asked().question) told.query = asked().question;
    else told.all = true;
    return told;
  }

  const files = (count) => `${count.toLocaleString("en")} ${count === 1 ? "file" : "files"}`;
  const digests = (count) => `${count.toLocaleString("en")} ${count === 1 ? "digest" : "digests"}`;

  async function look() {
    const mine = (planning = {});
    start.disabled = true;
    plan.textContent = "Counting what this takes…";
    try {
      const told = await chyme.api("POST", "/api/digest", { ...wanted(), dry_run: true });
      if (mine !== planning) return;
      const models = told.asks_models ? ` A model is asked for ${told.asks_models.toLocaleString("en")} of them.` : "";
      plan.textContent = told.digests ? `${digests(told.digests)} of ${files(told.files)} will be made again.${models}` : "There is nothing to do for this selection.";
      start.disabled = !told.digests;
    } catch (error) {
      if (mine === planning) plan.textContent = error.message;
    }
  }

  bar.querySelector("[data-run]").addEventListener("click", async () => {
    chyme.open(run);
    look();
    if (digesters.options.length > 1) return;
    try {
      for (const one of (await chyme.api("GET", "/api/digesters")).digesters) digesters.add(new Option(one.label, one.name));
    } catch (error) {
      chyme.problem(error);
    }
  });
  run.addEventListener("change", look);
  run.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  start.addEventListener("click", async () => {
    start.disabled = true;
    try {
      await chyme.api("POST", "/api/digest", wanted());
      run.close();
      clear();
      chyme.toast("Started.", { label: "Show", action: () => location.assign(`${chyme.base}/activity`) });
    } catch (error) {
      plan.textContent = error.message;
      start.disabled = false;
    }
  });

  show();
})();
