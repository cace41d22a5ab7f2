/* Sharing the file of this page. */

import { onButton, path } from "./file_context.js";
import { openSharing } from "./sharing.js";

onButton("[data-share]", () => openSharing({ paths: [path] }, 1));
