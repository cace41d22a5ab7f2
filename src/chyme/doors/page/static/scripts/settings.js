/* The settings page: light or dark, parts that take the server a moment, and finding a setting. */

import "./actions.js";
import { byId } from "./dom.js";
import "./settings_forms.js";
import { registerKey } from "./keyboard.js";
import { refreshPart } from "./refresh_part.js";
import { chooseTheme, chosenTheme } from "./theme_toggle.js";

const themes = [...document.querySelectorAll("input[name=theme]")];
const showTheme = () => { for (const input of themes) input.checked = input.value === chosenTheme(); };
for (const input of themes) input.addEventListener("change", () => chooseTheme(input.value));
new MutationObserver(showTheme).observe(document.documentElement, { attributeFilter: ["data-theme"] }); // the frame has buttons for it, too
showTheme();

for (const name of ["vault", "doctor"]) {
  const part = byId(`settings-${name}`);
  if (part) refreshPart(part, `/ui/settings/${name}`);
}

const search = byId("settings-q"); // missing for those who may not see the settings
const topics = [...document.querySelectorAll("#settings-all details.topic")];
const wasOpen = new Map(topics.map((topic) => [topic, topic.open]));

function showMatches() {
  const wanted = search.value.trim().toLowerCase();
  let total = 0;
  for (const topic of topics) {
    let count = 0;
    for (const row of topic.querySelectorAll(".setting")) {
      row.hidden = Boolean(wanted) && !row.dataset.setting.toLowerCase().includes(wanted);
      if (!row.hidden) count += 1;
    }
    topic.hidden = count === 0;
    topic.open = wanted ? count > 0 : wasOpen.get(topic);
    total += count;
  }
  byId("settings-none").hidden = total > 0;
}

if (search) {
  search.addEventListener("input", showMatches);
  registerKey("f", "Find a setting", () => { search.focus(); search.select(); });
}
