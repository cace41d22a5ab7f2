// The activity page, kept up to date by events: the work in progress at once, each other part when something touches it.
(() => {
  "use strict";

  const by = (id) => document.getElementById(id);
  const number = (value) => Number(value || 0).toLocaleString("en");

  function showNow(told) {
    const labels = JSON.parse(by("now-work").dataset.labels);
    by("now-todo").textContent = number(told.todo);
    by("now-running").textContent = number(told.running);
    by("now-lately").textContent = number(told.done_lately);
    by("now-again").textContent = number(told.again);
    by("now-paused").hidden = !told.paused;
    by("now-reason").textContent = told.paused || "";
    const busy = told.todo || told.running || told.work.length;
    by("now-eta").textContent = busy && told.eta_seconds !== null ? `${chyme.about(told.eta_seconds)} left` : "";
    by("now-idle").hidden = Boolean(busy);
    showWork(told.work, labels);
  }

  function showWork(work, labels) {
    const list = by("now-work");
    const rows = new Map([...list.children].map((row) => [row.dataset.key, row]));
    for (const one of work) {
      const key = `${one.path}\n${one.digester}`;
      let row = rows.get(key);
      rows.delete(key);
      if (!row) {
        row = by("now-row").content.firstElementChild.cloneNode(true);
        row.dataset.key = key;
        const [link, step] = row.children;
        link.href = `${chyme.base}/file/${chyme.at(one.path)}`;
        link.textContent = chyme.printable(one.path);
        step.textContent = labels[one.digester] || one.digester;
        row.querySelector("progress").setAttribute("aria-label", step.textContent);
        list.append(row);
      }
      const bar = row.querySelector("progress");
      if (one.fraction) bar.value = one.fraction;
      else bar.removeAttribute("value");
    }
    for (const row of rows.values()) row.remove();
  }

  const CALM = 1500; // milliseconds between two looks at one part
  const parts = new Map([...document.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));
  const planned = new Map();
  const seen = new Map();

  function touch(name, soon) {
    if (!parts.has(name) || planned.has(name)) return;
    const wait = soon ? 0 : Math.max(300, (seen.get(name) || 0) + CALM - performance.now());
    planned.set(name, setTimeout(async () => {
      seen.set(name, performance.now());
      await chyme.renew(parts.get(name), `/ui/activity/${name}`);
      planned.delete(name);
    }, wait));
  }

  for (const [name, part] of parts) {
    for (const kind of (part.dataset.on || "").split(" ").filter(Boolean)) {
      document.addEventListener(`chyme:${kind}`, () => touch(name));
    }
    if ("load" in part.dataset) touch(name, true);
  }
  document.addEventListener("chyme:status", (event) => showNow(event.detail));
  document.addEventListener("chyme:acted", (event) => event.detail.parts.forEach((name) => touch(name, true)));
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) for (const name of parts.keys()) if (name !== "now" && name !== "outdated") touch(name);
  });
})();
