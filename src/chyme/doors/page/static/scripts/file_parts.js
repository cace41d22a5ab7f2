/*
 * The parts of a file's page, replaced when the file changes. Dispatches chyme:parts when parts were fetched and
 * chyme:stage when the stage (the preview or the player, and the transcript) was replaced.
 */

import { create, dispatch } from "./dom.js";
import { keepContent } from "./file_content.js";
import { page, path } from "./file_context.js";
import { oneAtATime } from "./one_at_a_time.js";
import { firstControl, hasHtml, rememberHtml, replaceElement } from "./replace.js";
import { fetchFragment } from "./server.js";

const TIMEOUT_MS = 20000;
const waiting = new Map(); // name of a part → the new part, while the old one is being edited
let timer = 0;
let isLeaving = false; // to the page of the same file under its new name

export const setLeaving = (value) => { isLeaving = value; };

/** Forget new parts that wait for the end of an edit. */
export const forgetWaiting = () => waiting.clear();

const findPart = (name, root = page) => [...root.querySelectorAll("[data-part]")].find((part) => part.dataset.part === name);

function isBeingEdited(part) {
  const active = document.activeElement;
  return part.querySelector("[data-editing]") || (active && part.contains(active) && /^(INPUT|TEXTAREA)$/.test(active.tagName) && active.value);
}

/** A part in which nothing else can take the focus takes it itself, such as while a step is running. */
function focusable(part) {
  part.tabIndex = -1;
  return part;
}

function replacePart(old, fresh) {
  const refreshContent = keepContent(old);
  rememberHtml(fresh);
  waiting.delete(fresh.dataset.part);
  replaceElement(old, fresh, { fallback: (part) => firstControl(part) || focusable(part) });
  refreshContent(fresh);
  showLanguage();
}

function replaceChanged(fresh) {
  for (const part of fresh.querySelectorAll("[data-part]")) {
    const old = findPart(part.dataset.part);
    if (old && hasHtml(old, part.outerHTML)) waiting.delete(part.dataset.part);
    else if (!old && part.closest("[data-list]")) insert(part);
    else if (old && isBeingEdited(old)) waiting.set(part.dataset.part, part);
    else if (old) replacePart(old, part);
  }
  const title = page.querySelector("h1[data-value]");
  if (title) document.title = `${title.textContent} · chyme`;
}

/** Add a digest that was not there before, at its place in the order. */
function insert(part) {
  const list = page.querySelector("[data-list]");
  const previous = part.previousElementSibling && part.previousElementSibling.dataset.part;
  const beside = previous && findPart(previous, list);
  rememberHtml(part);
  if (beside) beside.after(part);
  else list.append(part);
}

/** Fetch all parts and replace those that have changed. */
export const refresh = oneAtATime(async () => {
  if (!page.isConnected) return;
  const fresh = await fetchFragment(`/ui/file/parts?path=${encodeURIComponent(path)}`, AbortSignal.timeout(TIMEOUT_MS)).catch((error) => error);
  if (fresh.status === 404) await showVanished();
  if (fresh instanceof Error || !page.isConnected) return; // the next event tries again
  const changed = [...fresh.querySelectorAll("[data-stub]")].filter((stub) => {
    const part = findPart(stub.dataset.stub);
    return part && part.dataset.version !== stub.dataset.version;
  });
  replaceChanged(fresh);
  dispatch("chyme:parts");
  if (changed.length) await replaceStage(changed.map((stub) => stub.dataset.stub));
}, refreshSoon);

async function replaceStage(names) {
  const stage = await fetchFragment(`/ui/file/stage?path=${encodeURIComponent(path)}&${location.search.slice(1)}`).catch(() => null);
  if (!stage) return;
  for (const name of names) {
    const fresh = findPart(name, stage);
    const old = findPart(name);
    const media = old && old.querySelector("[data-media]");
    if (!fresh || !old || (media && (!media.paused || media.currentTime > 0))) continue; // do not interrupt playing
    replacePart(old, fresh);
  }
  dispatch("chyme:stage");
}

function refreshSoon() {
  clearTimeout(timer);
  timer = setTimeout(refresh, 250);
}

/** The file was moved or deleted while its page is open: say so, and where it is now. */
async function showVanished() {
  if (isLeaving || !page.isConnected) return;
  const notice = await fetchFragment(`/ui/file/gone?path=${encodeURIComponent(path)}&hash=${page.dataset.hash}`).catch(() => null);
  if (!notice || isLeaving || !page.isConnected) return;
  const hadFocus = page.contains(document.activeElement);
  const heading = notice.querySelector("h1");
  const media = page.querySelector("[data-media]");
  if (media) media.pause();
  page.replaceWith(notice);
  if (hadFocus) heading.focus();
}

/** Show new parts that waited for the end of an edit. */
export function replaceWaiting() {
  for (const [name, part] of waiting) {
    const old = findPart(name);
    if (old && !isBeingEdited(old)) replacePart(old, part);
  }
}

/** Show the language by its name instead of its code. */
function showLanguage() {
  const language = page.querySelector("[data-language]");
  if (!language) return;
  try {
    language.textContent = new Intl.DisplayNames(["en"], { type: "language" }).of(language.dataset.language) || language.textContent;
  } catch (error) {
    /* the code stays */
  }
}

async function showSimilar() {
  const list = page.querySelector("[data-alike]");
  try {
    list.replaceChildren(await fetchFragment(`/ui/file/similar?path=${encodeURIComponent(path)}`));
  } catch (error) {
    list.replaceChildren(create("p", { className: "muted small", textContent: "Nothing to compare yet." }));
  }
}

for (const part of page.querySelectorAll("[data-part]")) rememberHtml(part);
for (const kind of ["file", "digest", "document", "person"]) {
  document.addEventListener(`chyme:${kind}`, ({ detail }) => {
    if (!detail.path || detail.path === path || (detail.status === "moved" && detail.detail === path)) refreshSoon();
  });
}
document.addEventListener("chyme:reset", refreshSoon);
page.addEventListener("focusout", () => setTimeout(replaceWaiting, 50));
showLanguage();
showSimilar();
