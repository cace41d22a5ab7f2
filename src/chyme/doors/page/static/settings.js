// The settings page: the look, what takes a moment to find out, and finding a setting.
(() => {
  "use strict";

  const by = (id) => document.getElementById(id);
  const root = document.documentElement;

  function chosenLook() {
    try {
      return localStorage.getItem("chyme-theme") || "";
    } catch {
      return root.dataset.theme || "";
    }
  }

  function choose(look) {
    try {
      if (look) localStorage.setItem("chyme-theme", look);
      else localStorage.removeItem("chyme-theme");
    } catch { /* it holds for this page, then */ }
    if (look) root.dataset.theme = look;
    else delete root.dataset.theme;
  }

  const looks = [...document.querySelectorAll("input[name=theme]")];
  const showLook = () => { for (const one of looks) one.checked = one.value === chosenLook(); };
  for (const one of looks) one.addEventListener("change", () => choose(one.value));
  new MutationObserver(showLook).observe(root, { attributeFilter: ["data-theme"] }); // there are other buttons for it
  showLook();

  for (const part of ["vault", "doctor"]) {
    const place = by(`settings-${part}`);
    if (place) chyme.renew(place, `/ui/settings/${part}`);
  }

  const words = by("settings-q");
  if (!words) return;
  const topics = [...document.querySelectorAll("details.topic")];
  const before = new Map(topics.map((one) => [one, one.open]));

  words.addEventListener("input", () => {
    const wanted = words.value.trim().toLowerCase();
    let found = 0;
    for (const topic of topics) {
      let here = 0;
      for (const row of topic.querySelectorAll(".setting")) {
        row.hidden = Boolean(wanted) && !row.dataset.setting.toLowerCase().includes(wanted);
        if (!row.hidden) here += 1;
      }
      topic.hidden = here === 0;
      topic.open = wanted ? here > 0 : before.get(topic);
      found += here;
    }
    by("settings-none").hidden = found > 0;
  });
  chyme.keys("f", "Find a setting", () => { words.focus(); words.select(); });
})();
