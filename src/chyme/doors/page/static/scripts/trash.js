/* The trash: its list is fetched again after every action here, and when files are deleted elsewhere. */

import "./actions.js";
import { byId } from "./dom.js";
import { refreshPart } from "./refresh_part.js";

const refresh = () => refreshPart(byId("trash"), "/ui/trash/list");
let timer = 0;

document.addEventListener("chyme:acted", refresh);
for (const kind of ["chyme:file", "chyme:vault", "chyme:reset"]) {
  document.addEventListener(kind, () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, 500);
  });
}
