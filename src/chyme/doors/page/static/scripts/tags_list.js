/* The list on the tags page: found as you type, continued as you scroll, with boxes to choose tags. */

import { byId } from "./dom.js";
import { replaceContent } from "./replace.js";
import { fetchFragment } from "./server.js";

export const list = byId("tags-list");
export const search = byId("tags-q");
export const chosen = new Map(); // tag → number of its files
const order = byId("tags-sort");
const observer = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) showMore(entry.target);
}, { rootMargin: "600px" });
let request = null;
let typingTimer = 0;
let goTo = null; // the row to be focused next, such as that of a tag under its new name

const addressOf = (offset) => `/ui/tags/list?q=${encodeURIComponent(search.value)}&sort=${order.value}&offset=${offset}`;

/** Focus this tag when the list is shown next; null for none. */
export function focusNext(tag) {
  goTo = tag === null ? null : { row: `data-tag=${tag}`, key: "name" };
}

export async function refreshList() {
  if (request) request.abort();
  request = new AbortController();
  let fresh;
  try {
    fresh = await fetchFragment(addressOf(0), request.signal);
  } catch (error) {
    return; // something newer is asked for, or the server does not answer
  }
  replaceContent(list, fresh, { fallback: () => search, usesNextRow: true, goTo });
  goTo = null;
  prepareList();
}

/** Tick the chosen tags, and continue the list when its end comes near. */
export function prepareList() {
  for (const box of list.querySelectorAll(".tag-check")) box.checked = chosen.has(box.closest("li").dataset.tag);
  const more = list.querySelector(".tag-more");
  if (more) observer.observe(more);
}

async function showMore(row) {
  observer.unobserve(row);
  const link = row.querySelector("[data-next]");
  const hadFocus = document.activeElement === link;
  let fresh;
  try {
    fresh = await fetchFragment(addressOf(link.dataset.next));
  } catch (error) {
    return;
  }
  const first = fresh.querySelector("a");
  if (!row.isConnected) return;
  row.replaceWith(fresh);
  if (hadFocus && first) first.focus({ preventScroll: true });
  prepareList();
}

search.addEventListener("input", () => {
  clearTimeout(typingTimer);
  typingTimer = setTimeout(refreshList, 120);
});
order.addEventListener("change", refreshList);
byId("tags-form").addEventListener("submit", (event) => { event.preventDefault(); refreshList(); });
document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-next]")) return;
  event.preventDefault();
  showMore(event.target.closest(".tag-more"));
});
prepareList();
