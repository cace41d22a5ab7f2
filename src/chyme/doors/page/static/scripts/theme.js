/* Runs before the first paint and is therefore no module: the page must not show in another look first. */
(function () {
  "use strict";
  try {
    var theme = localStorage.getItem("chyme-theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch (error) {
    /* without storage, the system decides */
  }
  document.documentElement.classList.add("scripted");
})();
