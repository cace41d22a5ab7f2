/* Keys of the page, single ("x") or two after another ("g v"), and the list of them in the help. */

import { openDialog } from "./dialogs.js";
import { byId, create } from "./dom.js";

const SECOND_KEY_MS = 1200;
const KEY_CAPS = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };
const keys = new Map(); // "x" or "g v" → {text, action}
let firstKey = "";
let firstKeyTimer = 0;

/** Call `action` when the key is pressed; false from it leaves the key to the browser. Without `text` the help does not list it. */
export function registerKey(key, text, action) {
  keys.set(key, { text, action });
}

function isTyping(target) {
  return target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
    !(target instanceof HTMLInputElement && /^(checkbox|radio|button|range)$/.test(target.type));
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const pressed = keys.get(firstKey ? `${firstKey} ${event.key}` : event.key);
  clearTimeout(firstKeyTimer);
  if (pressed) {
    firstKey = "";
    if (pressed.action(event) !== false) event.preventDefault();
  } else if (!firstKey && [...keys.keys()].some((key) => key.startsWith(`${event.key} `))) {
    firstKey = event.key;
    firstKeyTimer = setTimeout(() => { firstKey = ""; }, SECOND_KEY_MS);
  } else firstKey = "";
});

export function showHelp() {
  byId("more")?.close();
  const list = document.querySelector("[data-keys]");
  if (!list) return;
  list.replaceChildren();
  for (const [key, { text }] of keys) {
    if (!text) continue;
    const caps = key.split(" ").flatMap((part) => [create("kbd", { textContent: KEY_CAPS[part] || part }), " "]);
    list.append(create("dt", {}, ...caps), create("dd", { textContent: text }));
  }
  openDialog(byId("help"));
}
