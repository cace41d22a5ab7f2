/* The pages of a PDF: turning them, drawing them larger, and marking the words that were looked for. */
(function () {
  "use strict";

  const { page, pressed } = chyme.file;
  let sheet = null;
  let marked = false; // the first words were scrolled to

  function pages() {
    const viewer = page.querySelector("[data-viewer-pages]");
    if (!viewer) return null;
    return { viewer, last: Number(viewer.dataset.pages), now: Number(viewer.dataset.page) };
  }

  const address = (viewer, number) => `${viewer.dataset.src}?page=${number}&width=${viewer.hasAttribute("data-larger") ? 1600 : 1200}`;

  function show(number) {
    const { viewer, last, now } = pages();
    const wanted = Math.min(Math.max(number, 1), last);
    viewer.querySelector("#page-number").value = wanted;
    if (wanted === now && sheet === null) return;
    viewer.dataset.page = wanted;
    viewer.dataset.waits = "";
    const image = viewer.querySelector("[data-sheet]");
    const next = new Image();
    sheet = next;
    next.src = address(viewer, wanted);
    const done = () => {
      if (sheet !== next) return;
      if (next.naturalWidth) {
        image.src = next.src;
        image.width = next.naturalWidth;
        image.height = next.naturalHeight;
      }
      image.alt = `Page ${wanted}`;
      delete viewer.dataset.waits;
      markWords(wanted);
      neighbours(viewer, wanted, last);
    };
    next.addEventListener("load", done);
    next.addEventListener("error", () => { done(); if (sheet === next) chyme.toast(`Page ${wanted} cannot be drawn`, { red: true }); });
    viewer.querySelector("[data-word-boxes]").toggleAttribute("hidden", true);
    viewer.querySelector('[data-turn="-1"]').disabled = wanted <= 1;
    viewer.querySelector('[data-turn="1"]').disabled = wanted >= last;
    viewer.querySelector("[data-paper]").setAttribute("aria-label", `Page ${wanted} of ${last}; the arrow keys turn pages`);
    const mark = viewer.querySelector("[data-found-on]");
    if (mark) mark.toggleAttribute("hidden", mark.dataset.foundOn !== String(wanted));
    const query = new URLSearchParams(location.search);
    query.set("page", wanted);
    history.replaceState(null, "", `?${query}`);
  }

  /** Mark the words of the question on this page. Where that cannot be done, the page is shown as it is. */
  async function markWords(number) {
    const { viewer } = pages();
    const layer = viewer.querySelector("[data-word-boxes]");
    const question = page.dataset.question;
    layer.toggleAttribute("hidden", true);
    if (!question) return;
    let boxes = [];
    try {
      const query = new URLSearchParams({ page: number, q: question });
      const answer = await fetch(`${viewer.dataset.words}?${query}`);
      if (answer.ok) boxes = (await answer.json()).boxes;
    } catch (error) {
      return; // without a connection the page itself would not have come
    }
    if (!layer.isConnected || pages().now !== number) return; // turned meanwhile
    layer.replaceChildren(...boxes.map(([left, top, right, bottom]) => {
      const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      const pad = (bottom - top) * 80; // a little air around the letters
      const sides = { x: left * 1000 - pad, y: top * 1000 - pad, width: (right - left) * 1000 + 2 * pad, height: (bottom - top) * 1000 + 2 * pad };
      for (const [name, value] of Object.entries({ ...sides, class: "box-word" })) rect.setAttribute(name, value);
      return rect;
    }));
    layer.setAttribute("aria-label", `“${question}” is marked ${boxes.length === 1 ? "once" : `${boxes.length} times`} on page ${number}`);
    layer.toggleAttribute("hidden", !boxes.length);
    if (boxes.length && !marked && !viewer.querySelector("[data-found-on]")) layer.firstChild.scrollIntoView({ block: "center", behavior: "instant" });
    marked = true;
  }

  function neighbours(viewer, number, last) {
    for (const near of [number + 1, number - 1]) if (near >= 1 && near <= last) new Image().src = address(viewer, near);
  }

  function turn(by) {
    const viewing = pages();
    if (viewing) show(viewing.now + by);
  }

  function zoom(button) {
    const { viewer, now } = pages();
    const larger = viewer.toggleAttribute("data-larger");
    button.setAttribute("aria-pressed", String(larger));
    sheet = sheet || new Image();
    show(now);
  }

  page.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-goto]")) return;
    event.preventDefault();
    const wanted = Number.parseInt(event.target.querySelector("input").value, 10);
    if (Number.isFinite(wanted)) show(wanted);
    else event.target.querySelector("input").value = pages().now;
  });

  page.addEventListener("keydown", (event) => {
    if (!event.target.closest("[data-paper]") || !pages()) return;
    const by = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1 }[event.key];
    if (by) { event.preventDefault(); turn(by); }
    else if (event.key === "Home") { event.preventDefault(); show(1); }
    else if (event.key === "End") { event.preventDefault(); show(pages().last); }
  });

  pressed("[data-turn]", (button) => turn(Number(button.dataset.turn)));
  pressed("[data-zoom]", zoom);

  const viewing = pages();
  if (viewing) {
    neighbours(viewing.viewer, viewing.now, viewing.last);
    markWords(viewing.now);
  }
  document.addEventListener("chyme:stage", () => { if (pages()) markWords(pages().now); });
})();
