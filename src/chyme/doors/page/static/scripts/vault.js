/* The vault's page: the list of its files, and search. */

import "./vault_view.js";
import "./vault_search_box.js";
import "./vault_changes.js";
import "./vault_keys.js";
