/* The pages of a PDF: turning them, showing them larger, and marking the words of the question. */

import { onButton, page } from "./file_context.js";
import { showToast } from "./toasts.js";

const SVG = "http://www.w3.org/2000/svg";
let loading = null; // the picture of the page that was asked for last
let hasScrolled = false; // to the first marked words

/** The viewer, the number of the page it shows and that of the last one; null without a viewer. */
function currentPages() {
  const viewer = page.querySelector("[data-viewer-pages]");
  return viewer && { viewer, last: Number(viewer.dataset.pages), now: Number(viewer.dataset.page) };
}

const pictureAddress = (viewer, number) => `${viewer.dataset.src}?page=${number}&width=${viewer.hasAttribute("data-larger") ? 1600 : 1200}`;

function showPage(number) {
  const { viewer, last, now } = currentPages();
  const wanted = Math.min(Math.max(number, 1), last);
  viewer.querySelector("#page-number").value = wanted;
  if (wanted === now && loading === null) return;
  viewer.dataset.page = wanted;
  viewer.dataset.waits = "";
  const image = viewer.querySelector("[data-sheet]");
  const picture = new Image();
  loading = picture;
  picture.src = pictureAddress(viewer, wanted);
  const done = () => {
    if (loading !== picture) return;
    if (picture.naturalWidth) {
      image.src = picture.src;
      image.width = picture.naturalWidth;
      image.height = picture.naturalHeight;
    }
    image.alt = `Page ${wanted}`;
    delete viewer.dataset.waits;
    markWords(wanted);
    loadNeighbours(viewer, wanted, last);
  };
  picture.addEventListener("load", done);
  picture.addEventListener("error", () => { done(); if (loading === picture) showToast(`Page ${wanted} cannot be drawn`, { red: true }); });
  viewer.querySelector("[data-word-boxes]").toggleAttribute("hidden", true);
  viewer.querySelector('[data-turn="-1"]').disabled = wanted <= 1;
  viewer.querySelector('[data-turn="1"]').disabled = wanted >= last;
  viewer.querySelector("[data-paper]").setAttribute("aria-label", `Page ${wanted} of ${last}; the arrow keys turn pages`);
  const found = viewer.querySelector("[data-found-on]");
  if (found) found.toggleAttribute("hidden", found.dataset.foundOn !== String(wanted));
  const query = new URLSearchParams(location.search);
  query.set("page", wanted);
  history.replaceState(null, "", `?${query}`);
}

function createBox([left, top, right, bottom]) {
  const rect = document.createElementNS(SVG, "rect");
  const padding = (bottom - top) * 80; // a little space around the letters
  const sides = { x: left * 1000 - padding, y: top * 1000 - padding, width: (right - left) * 1000 + 2 * padding, height: (bottom - top) * 1000 + 2 * padding };
  for (const [name, value] of Object.entries({ ...sides, class: "box-word" })) rect.setAttribute(name, value);
  return rect;
}

/** Mark the words of the question on this page. If that fails, the page is shown without marks. */
async function markWords(number) {
  const { viewer } = currentPages();
  const layer = viewer.querySelector("[data-word-boxes]");
  const question = page.dataset.question;
  layer.toggleAttribute("hidden", true);
  if (!question) return;
  let boxes = [];
  try {
    const query = new URLSearchParams({ page: number, q: question });
    const response = await fetch(`${viewer.dataset.words}?${query}`);
    if (response.ok) boxes = (await response.json()).boxes;
  } catch (error) {
    return; // without a connection the page itself would not have come
  }
  if (!layer.isConnected || currentPages().now !== number) return; // another page is shown by now
  layer.replaceChildren(...boxes.map(createBox));
  layer.setAttribute("aria-label", `“${question}” is marked ${boxes.length === 1 ? "once" : `${boxes.length} times`} on page ${number}`);
  layer.toggleAttribute("hidden", !boxes.length);
  if (boxes.length && !hasScrolled && !viewer.querySelector("[data-found-on]")) layer.firstChild.scrollIntoView({ block: "center", behavior: "instant" });
  hasScrolled = true;
}

/** Load the pages before and after this one, so that turning is quick. */
function loadNeighbours(viewer, number, last) {
  for (const neighbour of [number + 1, number - 1]) if (neighbour >= 1 && neighbour <= last) new Image().src = pictureAddress(viewer, neighbour);
}

function turn(by) {
  const pages = currentPages();
  if (pages) showPage(pages.now + by);
}

function toggleSize(button) {
  const { viewer, now } = currentPages();
  const isLarger = viewer.toggleAttribute("data-larger");
  button.setAttribute("aria-pressed", String(isLarger));
  loading = loading || new Image(); // so that the same page is drawn again
  showPage(now);
}

page.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-goto]")) return;
  event.preventDefault();
  const wanted = Number.parseInt(event.target.querySelector("input").value, 10);
  if (Number.isFinite(wanted)) showPage(wanted);
  else event.target.querySelector("input").value = currentPages().now;
});

page.addEventListener("keydown", (event) => {
  if (!event.target.closest("[data-paper]") || !currentPages()) return;
  const by = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1 }[event.key];
  if (by) { event.preventDefault(); turn(by); }
  else if (event.key === "Home") { event.preventDefault(); showPage(1); }
  else if (event.key === "End") { event.preventDefault(); showPage(currentPages().last); }
});

onButton("[data-turn]", (button) => turn(Number(button.dataset.turn)));
onButton("[data-zoom]", toggleSize);

const pages = currentPages();
if (pages) {
  loadNeighbours(pages.viewer, pages.now, pages.last);
  markWords(pages.now);
}
document.addEventListener("chyme:stage", () => { if (currentPages()) markWords(currentPages().now); });
