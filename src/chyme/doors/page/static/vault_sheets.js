/* The vault's list without an end: sheets come when they are near and go when they are far; and the place one was at. */
(function () {
  "use strict";

  const { cardOf, dress } = chyme.list;
  const vault = document.getElementById("vault");
  const FILL = "2500px 0px"; // what is this near is there
  const DROP = "9000px 0px"; // what is this far takes no memory
  const MOST_SHEETS = 40;

  const coming = new IntersectionObserver(near, { rootMargin: FILL });
  const leaving = new IntersectionObserver(far, { rootMargin: DROP });
  let watched = [];

  function watch() {
    for (const one of watched) { coming.unobserve(one); leaving.unobserve(one); }
    watched = [...vault.querySelectorAll(".sheet, .more")];
    for (const one of watched) {
      coming.observe(one);
      if (one.matches(".sheet")) leaving.observe(one);
    }
  }

  function near(entries) {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      if (target.matches(".more")) more(target);
      else if (target.hasAttribute("data-empty")) fill(target);
    }
  }

  function far(entries) {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting || target.hasAttribute("data-empty") || !target.isConnected || target.contains(document.activeElement)) continue;
      const height = target.getBoundingClientRect().height;
      if (!height) continue;
      target.setAttribute("data-empty", "");
      if (target.tagName === "TBODY") {
        const gap = document.createElement("tr");
        gap.className = "gap";
        gap.append(document.createElement("td"));
        gap.firstChild.style.height = `${height}px`;
        target.replaceChildren(gap);
      } else {
        target.style.height = `${height}px`;
        target.replaceChildren();
      }
    }
  }

  async function more(link) {
    if (link.dataset.busy) return false;
    link.dataset.busy = "1";
    coming.unobserve(link);
    try {
      const found = await chyme.fragment(link.dataset.src);
      if (!link.isConnected) return false;
      const sheet = found.querySelector(".sheet");
      const next = found.querySelector(".more");
      if (sheet) {
        [...vault.querySelectorAll(".sheet")].pop().after(sheet);
        dress(sheet);
      }
      if (next) link.replaceWith(next);
      else link.remove();
      watch();
      return true;
    } catch (error) {
      delete link.dataset.busy; // a click on it tries again
      chyme.problem(error);
      return false;
    }
  }

  vault.addEventListener("click", (event) => {
    const link = event.target.closest(".more");
    if (link) { event.preventDefault(); more(link); }
  });

  async function fill(sheet) {
    sheet.removeAttribute("data-empty");
    try {
      const found = (await chyme.fragment(sheet.dataset.src)).querySelector(".sheet");
      if (!sheet.isConnected || !found) return;
      sheet.replaceChildren(...found.children);
      sheet.style.height = "";
      dress(sheet);
    } catch (error) {
      sheet.setAttribute("data-empty", "");
    }
  }

  /* ---- the place one was at: kept with the address, for going back and for a reload ---- */

  let keeping = 0;
  history.scrollRestoration = "manual"; // the browser would scroll before the sheets are there

  function keep() {
    clearTimeout(keeping);
    const bar = document.querySelector(".top").getBoundingClientRect().bottom;
    const first = scrollY > 0 && [...vault.querySelectorAll("#results [data-path]")].find((one) => one.getBoundingClientRect().bottom > bar);
    const place = first ? { path: first.dataset.path, top: first.getBoundingClientRect().top, y: scrollY, sheets: vault.querySelectorAll(".sheet").length } : null;
    if (place || history.state) history.replaceState(place, "");
  }

  async function restore(place) {
    if (!place) { scrollTo(0, 0); return; }
    const wanted = Math.min(place.sheets, MOST_SHEETS);
    for (let link; vault.querySelectorAll(".sheet").length < wanted && (link = vault.querySelector(".more"));) {
      if (link.dataset.busy) await new Promise((done) => setTimeout(done, 50));
      else if (!(await more(link))) break;
    }
    scrollTo(0, place.y);
    for (let times = 0; times < 3; times += 1) { // heights are guessed until somebody looks
      const card = cardOf(place.path);
      if (card) scrollBy(0, card.getBoundingClientRect().top - place.top);
      await new Promise(requestAnimationFrame);
    }
  }

  addEventListener("scroll", () => { clearTimeout(keeping); keeping = setTimeout(keep, 200); }, { passive: true });
  addEventListener("popstate", () => clearTimeout(keeping)); // it was for the address that was left
  addEventListener("pagehide", keep);

  Object.assign(chyme.list, { watch, keep, restore });
  watch();
})();
