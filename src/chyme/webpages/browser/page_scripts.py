"""The scripts that we run in a page, in an isolated world that its own scripts cannot see or change."""

from __future__ import annotations

WORLD = "chyme"

# Records when the tree last changed, from the start of every document.
WATCH_CHANGES_JS = """(() => {
  const seen = () => { globalThis.chymeChanged = performance.now(); };
  seen();
  new MutationObserver(seen).observe(document, {subtree: true, childList: true, characterData: true});
})()"""

# Milliseconds since the tree last changed.
QUIET_TIME_JS = "performance.now() - (globalThis.chymeChanged ?? 0)"

# Title and height: of the scrollable area or, if that is smaller than the window, of the content.
MEASURE_JS = """(() => {
  const own = name => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
  const root = own("documentElement"), body = own("body");
  const scrolled = Math.max(root?.scrollHeight ?? 0, body?.scrollHeight ?? 0);
  const ends = [root, body].filter(Boolean).map(element => element.getBoundingClientRect().bottom + scrollY);
  const height = scrolled > innerHeight ? scrolled : Math.min(innerHeight, Math.max(0, ...ends));
  return {title: own("title").slice(0, 2000), height: Math.ceil(height)};
})()"""

# The page as HTML. Shadow trees are written in place of the children of their hosts, and styles that scripts created
# without markup are written out. Nodes that may be the document or a form are not accessed by their properties: there
# the page's own names for its parts take precedence.
SERIALISE_JS = """(() => {
  const MOST = %d;
  const EMPTY = new Set(["area","base","br","col","embed","hr","img","input","link","meta","source","track","wbr"]);
  const RAW = new Set(["script", "style", "noscript", "iframe", "xmp", "noembed", "noframes", "plaintext"]);
  const getter = (kind, name) => {
    const get = Object.getOwnPropertyDescriptor(kind.prototype, name).get;
    return node => get.call(node);
  };
  const localName = getter(Element, "localName"), attributes = getter(Element, "attributes");
  const shadow = getter(Element, "shadowRoot"), childNodes = getter(Node, "childNodes");
  const nodeType = getter(Node, "nodeType"), parent = getter(Node, "parentElement");
  const own = name => getter(Document, name)(document);
  const text = s => s.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const quoted = s => s.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");
  const rules = sheet => {
    const out = [];
    let length = 0;
    try {
      for (const rule of sheet.disabled ? [] : sheet.cssRules) {
        out.push(rule.cssText);
        length += rule.cssText.length;
        if (length > MOST) break;
      }
    } catch { return ""; }
    return out.join("\\n").replaceAll("</", "<\\\\/");
  };
  const adopted = new Set();
  const adoptedBy = tree => {
    const found = [];
    for (const sheet of tree === document ? own("adoptedStyleSheets") : tree.adoptedStyleSheets) {
      const media = sheet.media.mediaText, inside = rules(sheet);
      const whole = inside && media ? "@media " + media + " {\\n" + inside + "\\n}" : inside;
      if (whole && !adopted.has(whole)) found.push(whole);
      adopted.add(whole);
    }
    return found.join("\\n");
  };
  const fill = tree => {
    for (const style of tree.querySelectorAll("style"))
      if (style.sheet && !style.textContent.trim()) style.textContent = rules(style.sheet);
  };
  const fillAll = root => {
    let found = false;
    const trees = [root];
    for (let tree; (tree = trees.pop());) {
      fill(tree);
      const walker = Document.prototype.createTreeWalker.call(document, tree, NodeFilter.SHOW_ELEMENT);
      for (let node = tree === root ? root : walker.nextNode(); node; node = walker.nextNode())
        if (shadow(node)) { found = true; trees.push(shadow(node)); }
    }
    return found;
  };
  const flat = root => {
    const out = [];
    let length = 0;
    const put = s => { out.push(s); length += s.length; };
    const stack = [root];
    while (stack.length && length < MOST) {
      const node = stack.pop();
      if (typeof node === "string") { put(node); continue; }
      if (nodeType(node) === Node.TEXT_NODE) {
        put(parent(node) && RAW.has(localName(parent(node))) ? node.data : text(node.data));
        continue;
      }
      if (nodeType(node) !== Node.ELEMENT_NODE) continue;
      const name = localName(node);
      let inside;
      if (name === "slot" && node.assignedNodes().length) inside = node.assignedNodes();
      else {
        put("<" + name);
        for (const one of attributes(node)) put(" " + one.name + '="' + quoted(one.value) + '"');
        put(">");
        if (EMPTY.has(name)) continue;
        stack.push("</" + name + ">");
        const tree = shadow(node), styles = tree ? adoptedBy(tree) : "";
        if (styles) stack.push("<style>" + styles + "</style>");
        inside = childNodes(name === "template" ? node.content : tree ?? node);
      }
      for (let at = inside.length - 1; at >= 0; at--) stack.push(inside[at]);
    }
    return out.join("");
  };
  const root = own("documentElement");
  let html = "";
  if (root) {
    const type = own("doctype") ? "<!DOCTYPE " + own("doctype").name + ">\\n" : "";
    const shadows = fillAll(root), styles = adoptedBy(document);
    const style = Document.prototype.createElement.call(document, "style");
    style.textContent = styles;
    if (styles) (own("head") ?? root).append(style);
    html = type + (shadows ? flat(root) : root.outerHTML);
    style.remove();
  }
  globalThis.chymeHtml = html.slice(0, MOST);
  return html.length;
})()"""

# A slice of the serialised page.
READ_SLICE_JS = "globalThis.chymeHtml.slice(%d, %d)"
