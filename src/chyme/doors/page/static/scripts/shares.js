/* The list of links: fetched again after every action here. */

import "./actions.js";
import { byId } from "./dom.js";
import { refreshPart } from "./refresh_part.js";

document.addEventListener("chyme:acted", () => refreshPart(byId("shares"), "/ui/shares/list"));
