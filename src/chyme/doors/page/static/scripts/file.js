/* The page of one file. */

import "./file_parts.js";
import "./file_progress.js";
import "./file_editing.js";
import "./file_retrying.js";
import "./file_moving.js";
import "./file_pages.js";
import "./file_places.js";
