/* Runs before the first paint: the look somebody chose must not come in after the page has been seen. */
(function () {
  "use strict";
  try {
    var theme = localStorage.getItem("chyme-theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch (error) {
    /* no storage here: the system's own look it is */
  }
  document.documentElement.classList.add("scripted");
})();
