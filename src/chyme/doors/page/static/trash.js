// The trash: what was acted on is gone from the list, and what others delete comes in.
(() => {
  "use strict";

  const list = document.getElementById("trash");
  const anew = () => chyme.renew(list, "/ui/trash/list");
  let soon = 0;
  document.addEventListener("chyme:acted", anew);
  for (const kind of ["chyme:file", "chyme:vault", "chyme:reset"]) {
    document.addEventListener(kind, () => {
      clearTimeout(soon);
      soon = setTimeout(anew, 500);
    });
  }
})();
