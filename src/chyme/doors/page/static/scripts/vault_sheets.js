/* The vault's endless list: sheets of cards are fetched when they come near and emptied when they are far away. */

import { create } from "./dom.js";
import { fetchFragment } from "./server.js";
import { showProblem } from "./toasts.js";
import { prepareCards, vault } from "./vault_cards.js";

const FILL_MARGIN = "2500px 0px"; // sheets this near are filled
const EMPTY_MARGIN = "9000px 0px"; // sheets further away take no memory

const nearObserver = new IntersectionObserver(onNear, { rootMargin: FILL_MARGIN });
const farObserver = new IntersectionObserver(onFar, { rootMargin: EMPTY_MARGIN });
let watched = [];

/** Watch the sheets that are in the list now, and the link to more. */
export function watchSheets() {
  for (const element of watched) { nearObserver.unobserve(element); farObserver.unobserve(element); }
  watched = [...vault.querySelectorAll(".sheet, .more")];
  for (const element of watched) {
    nearObserver.observe(element);
    if (element.matches(".sheet")) farObserver.observe(element);
  }
}

function onNear(entries) {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    if (target.matches(".more")) loadMore(target);
    else if (target.hasAttribute("data-empty")) fillSheet(target);
  }
}

function onFar(entries) {
  for (const { isIntersecting, target } of entries) {
    if (isIntersecting || target.hasAttribute("data-empty") || !target.isConnected || target.contains(document.activeElement)) continue;
    const height = target.getBoundingClientRect().height;
    if (height) emptySheet(target, height);
  }
}

/** Empty a sheet that keeps its height, so that nothing moves. */
function emptySheet(sheet, height) {
  sheet.setAttribute("data-empty", "");
  if (sheet.tagName === "TBODY") {
    const cell = create("td");
    cell.style.height = `${height}px`;
    sheet.replaceChildren(create("tr", { className: "gap" }, cell));
  } else {
    sheet.style.height = `${height}px`;
    sheet.replaceChildren();
  }
}

async function fillSheet(sheet) {
  sheet.removeAttribute("data-empty");
  try {
    const fresh = (await fetchFragment(sheet.dataset.src)).querySelector(".sheet");
    if (!sheet.isConnected || !fresh) return;
    sheet.replaceChildren(...fresh.children);
    sheet.style.height = "";
    prepareCards(sheet);
  } catch (error) {
    sheet.setAttribute("data-empty", "");
  }
}

/** Append the next sheet; `link` leads to it. Returns whether that worked. */
export async function loadMore(link) {
  if (link.dataset.busy) return false;
  link.dataset.busy = "1";
  nearObserver.unobserve(link);
  try {
    const fresh = await fetchFragment(link.dataset.src);
    if (!link.isConnected) return false;
    const sheet = fresh.querySelector(".sheet");
    const nextLink = fresh.querySelector(".more");
    if (sheet) {
      [...vault.querySelectorAll(".sheet")].pop().after(sheet);
      prepareCards(sheet);
    }
    if (nextLink) link.replaceWith(nextLink);
    else link.remove();
    watchSheets();
    return true;
  } catch (error) {
    delete link.dataset.busy; // a click on it tries again
    showProblem(error);
    return false;
  }
}

vault.addEventListener("click", (event) => {
  const link = event.target.closest(".more");
  if (link) { event.preventDefault(); loadMore(link); }
});
watchSheets();
