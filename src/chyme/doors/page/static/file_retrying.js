/* Trying a file again, making one of its digests again, what became of it; keeping the links of a text. */
(function () {
  "use strict";

  const { page, path, refresh, pressed } = chyme.file;
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
    const { state, why } = page.querySelector("[data-state]").dataset;
    if (!retried) return;
    if (/^(processing|stale)$/.test(state)) retried.begun = true;
    else if (retried.begun) outcome(state, why);
  }

  async function keepLinks(button) {
    button.setAttribute("aria-disabled", "true");
    try {
      const { links } = await chyme.api("POST", `/api/links/${chyme.at(path)}`, {});
      const created = links.filter((link) => link.created).length;
      chyme.toast(created === 1 ? "One link is kept" : `${created} links are kept`);
      button.closest("p").remove();
    } catch (error) {
      chyme.problem(error);
      button.removeAttribute("aria-disabled");
    }
  }

  document.addEventListener("chyme:parts", settled);
  pressed("[data-keep-links]", keepLinks);
  pressed("[data-reprocess]", retry);
  pressed("[data-rerun]", makeAgain);
})();
