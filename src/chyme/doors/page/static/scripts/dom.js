/* Short forms for what scripts do with elements all the time. */

export const byId = (id) => document.getElementById(id);

/** Create an element with these properties and children. */
export function create(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Whether a click is meant for the page itself, and not for a new tab or an element that has handled it. */
export const isPlainClick = (event) => !(event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey);

/** Dispatch an event of the page on the document. */
export const dispatch = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));
