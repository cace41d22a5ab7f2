/*
 * Puts new HTML in the place of old and keeps what the person was doing there: the focus and the selection in a field,
 * what was typed or ticked, open and closed details, an open popover, and how far a box was scrolled.
 *
 * An element is found again by its data-key or id, or else by its tag and label. Inside a row (an entry of a list that
 * says in an attribute what it stands for) all these need to be unique in that row only.
 */

import { byId } from "./dom.js";

const ROW_ATTRIBUTES = ["data-path", "data-tag", "data-person", "data-voice"];
const ROWS = ROW_ATTRIBUTES.map((name) => `[${name}]`).join(", ");
const KEYED = "[data-key], [id]";
const CONTROLS = "a[href], button:not([disabled])";

const matching = (root, selector) => [...(root.matches(selector) ? [root] : []), ...root.querySelectorAll(selector)];
const keyOf = (element) => element.dataset.key || element.id;

/** What an element is called, without a count beside its name. */
function labelOf(element) {
  const name = element.firstElementChild ? element.firstChild.textContent.trim() || element.querySelector(".clip")?.textContent : "";
  return element.getAttribute("aria-label") || name || element.textContent;
}

function rowOf(element, root) {
  const row = element.closest(ROWS);
  return row && root.contains(row) ? row : null;
}

/** What a row stands for, such as "data-path=letters/harbour.md". */
function rowName(row) {
  const attribute = ROW_ATTRIBUTES.find((name) => row.hasAttribute(name));
  return `${attribute}=${row.getAttribute(attribute)}`;
}

function describe(element, root) {
  const row = rowOf(element, root);
  return {
    tag: element.tagName.toLowerCase(),
    key: keyOf(element),
    label: labelOf(element),
    row: row && rowName(row),
    rowIndex: row ? matching(root, ROWS).indexOf(row) : -1,
  };
}

/** The element inside `within` that fits the description. */
function findDescribed(within, { tag = "*", key, label }) {
  return matching(within, tag).find((element) => (key ? keyOf(element) === key : labelOf(element) === label));
}

/** The same element in the new content. With `usesNextRow` also its row's first control, or the row in its place. */
function findAgain(root, described, usesNextRow) {
  if (!described.row) return findDescribed(root, described);
  const rows = matching(root, ROWS);
  const row = rows.find((candidate) => rowName(candidate) === described.row);
  if (!usesNextRow) return row && findDescribed(row, described);
  const nearest = row || rows[Math.min(described.rowIndex, rows.length - 1)];
  return nearest && (findDescribed(nearest, described) || firstControl(nearest));
}

/* ---- the state of elements with a key ---- */

const isTickable = (element) => /^(checkbox|radio)$/.test(element.type);
const isTextField = (element) => /^(INPUT|TEXTAREA)$/.test(element.tagName) && !/^(checkbox|radio|file)$/.test(element.type);

/** Keyed elements by a name that is unique in `root`. */
function keyedElements(root) {
  return new Map(matching(root, KEYED).map((element) => {
    const row = rowOf(element, root);
    return [`${row ? rowName(row) : ""}\n${keyOf(element)}`, element];
  }));
}

function readState(element) {
  const state = { top: element.scrollTop, left: element.scrollLeft, isPopoverOpen: Boolean(element.popover) && element.matches(":popover-open") };
  if (element instanceof HTMLDetailsElement) state.open = element.open;
  if (isTextField(element) && element.value !== element.defaultValue) state.value = element.value;
  if (isTickable(element) && element.checked !== element.defaultChecked) state.checked = element.checked;
  return state;
}

function writeState(element, { top, left, isPopoverOpen, ...properties }) {
  Object.assign(element, properties);
  if (isPopoverOpen && !element.matches(":popover-open")) element.showPopover();
  if (top) element.scrollTop = top;
  if (left) element.scrollLeft = left;
}

/* ---- replacing ---- */

/** The page's main part, which takes the focus where nothing smaller is left. */
export const main = () => byId("main");

/** The first button or link of a part. */
export const firstControl = (part) => part.querySelector(CONTROLS);

/** Call `change`, which returns the element that is there afterwards, and keep the state of what it replaces. */
function keepState(root, change, { fallback = (now) => firstControl(now) || main(), usesNextRow = false, goTo = null }) {
  const states = new Map([...keyedElements(root)].map(([name, element]) => [name, readState(element)]));
  const active = root.contains(document.activeElement) ? document.activeElement : null;
  const described = active && describe(active, root);
  const selection = active && isTextField(active) ? [active.selectionStart, active.selectionEnd] : null;
  const now = change();
  for (const [name, element] of keyedElements(now)) {
    if (states.has(name)) writeState(element, states.get(name));
  }
  if (!goTo && (!described || document.activeElement === active)) return; // the focus is elsewhere, or was not replaced
  const fromRow = described?.row ? described : { rowIndex: 0 };
  const wanted = goTo ? { row: goTo.row, rowIndex: fromRow.rowIndex, key: fromRow.key || goTo.key } : described;
  const again = !goTo && active === root ? null : findAgain(now, wanted, usesNextRow);
  again?.focus({ preventScroll: true });
  if (!again || document.activeElement !== again) fallback(now).focus({ preventScroll: true }); // it is gone, or disabled
  else if (selection?.[0] != null && isTextField(again)) again.setSelectionRange(...selection);
}

/**
 * Put `fresh` in the place of `old`.
 *
 * fallback(now): the element that takes the focus when the focused one is gone; by default the first button or link.
 * usesNextRow: the focus stays in its row where its control is gone, and goes to the row in its place where that is gone.
 * goTo: `{row, key}`, a row that takes the focus from another one, such as "data-tag=harbour"; the key of what had the
 *   focus is preferred to this one.
 * keepsPictures: pictures with the same address are moved over, so that they do not flicker.
 */
export function replaceElement(old, fresh, { keepsPictures = false, ...options } = {}) {
  if (keepsPictures) keepPictures(old, fresh);
  keepState(old, () => { old.replaceWith(fresh); return fresh; }, options);
}

/** Put `fresh`, a fragment, in the place of all that is inside `container`; options as for `replaceElement`. */
export function replaceContent(container, fresh, options = {}) {
  keepState(container, () => { container.replaceChildren(fresh); return container; }, options);
}

function keepPictures(old, fresh) {
  const pictures = new Map([...old.querySelectorAll("img")].map((image) => [image.getAttribute("src"), image]));
  for (const image of fresh.querySelectorAll("img")) {
    const loaded = pictures.get(image.getAttribute("src"));
    if (loaded) image.replaceWith(loaded);
  }
}

/* ---- HTML as the server sent it, which scripts change afterwards ---- */

const received = new WeakMap(); // element → HTML

export function rememberHtml(element, html = element.outerHTML) {
  received.set(element, html);
}

/** Whether the server sent the element with this HTML. */
export const hasHtml = (element, html) => received.get(element) === html;
