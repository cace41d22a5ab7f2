"""What we say inside a page, in a world of our own that its scripts cannot see or change."""

from __future__ import annotations

WORLD = "chyme"

# From the beginning of every document on: when its tree last changed.
LOOKOUT = """(() => {
  const seen = () => { globalThis.chymeChanged = performance.now(); };
  seen();
  new MutationObserver(seen).observe(document, {subtree: true, childList: true, characterData: true});
})()"""

# Milliseconds since the tree last changed.
QUIET = "performance.now() - (globalThis.chymeChanged ?? 0)"

# Title and height: of all that can be scrolled to, or where that is less than the window, of what there is.
MEASURE = """(() => {
  const root = document.documentElement, body = document.body;
  const scrolled = Math.max(root?.scrollHeight ?? 0, body?.scrollHeight ?? 0);
  const ends = [root, body].filter(Boolean).map(element => element.getBoundingClientRect().bottom + scrollY);
  const height = scrolled > innerHeight ? scrolled : Math.min(innerHeight, Math.max(0, ...ends));
  return {title: document.title.slice(0, 2000), height: Math.ceil(height)};
})()"""

# The page as HTML. Where there are shadow trees, they stand in the places of what they are shown for.
WRITE = """(() => {
  const MOST = %d;
  const EMPTY = new Set(["area","base","br","col","embed","hr","img","input","link","meta","source","track","wbr"]);
  const RAW = new Set(["script", "style", "noscript", "iframe", "xmp", "noembed", "noframes", "plaintext"]);
  const text = s => s.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const quoted = s => s.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");
  const hasShadow = root => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
    for (let node = walker.currentNode; node; node = walker.nextNode()) if (node.shadowRoot) return true;
    return false;
  };
  const flat = root => {
    const out = [];
    let length = 0;
    const put = s => { out.push(s); length += s.length; };
    const stack = [root];
    while (stack.length && length < MOST) {
      const node = stack.pop();
      if (typeof node === "string") { put(node); continue; }
      if (node.nodeType === Node.TEXT_NODE) {
        put(RAW.has(node.parentNode?.localName) ? node.data : text(node.data));
        continue;
      }
      if (node.nodeType !== Node.ELEMENT_NODE) continue;
      let inside;
      if (node.localName === "slot" && node.assignedNodes().length) inside = node.assignedNodes();
      else {
        const name = node.localName;
        put("<" + name);
        for (const one of node.attributes) put(" " + one.name + '="' + quoted(one.value) + '"');
        put(">");
        if (EMPTY.has(name)) continue;
        stack.push("</" + name + ">");
        inside = name === "template" ? node.content.childNodes : (node.shadowRoot ?? node).childNodes;
      }
      for (let at = inside.length - 1; at >= 0; at--) stack.push(inside[at]);
    }
    return out.join("");
  };
  const root = document.documentElement;
  let html = "";
  if (root) {
    const type = document.doctype ? "<!DOCTYPE " + document.doctype.name + ">\\n" : "";
    html = type + (hasShadow(root) ? flat(root) : root.outerHTML);
  }
  globalThis.chymeHtml = html.slice(0, MOST);
  return html.length;
})()"""

# A stretch of what was written.
READ = "globalThis.chymeHtml.slice(%d, %d)"
