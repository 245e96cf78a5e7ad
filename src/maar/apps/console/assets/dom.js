// Elements from names, attributes and children. Text is only ever text: nothing here parses HTML.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element; `on…` attributes are listeners, `false`, `null` and `undefined` attributes are left out.
 * @param {string} tag such as `td` or `td.number.right`
 * @param {Object<string, any>} [attributes]
 * @param {...(Node|string|number|null|undefined|false|Array)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  return filled(document.createElement(name), classes, attributes, children);
}

/** The same for SVG. @returns {SVGElement} */
export function s(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  return filled(document.createElementNS(SVG, name), classes, attributes, children);
}

function filled(element, classes, attributes, children) {
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") Object.entries(value).forEach(([one, to]) => element.style.setProperty(one, to));
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

/** Put new children in place of the old ones. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(3).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

const filledWith = new WeakMap();

/** Build new children only where what they show differs, so that focus and selection stay where nothing changed. */
export function fillWhenChanged(element, shown, build) {
  const key = JSON.stringify(shown);
  if (filledWith.get(element) === key) return;
  filledWith.set(element, key);
  fill(element, build());
}

/** Set the text of an element where it differs; an unchanged row costs nothing. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Set or remove an attribute where it differs. */
export function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** Show or hide an element. */
export function setShown(element, shown) {
  if (element.hidden === shown) element.hidden = !shown;
}

/**
 * A drawing that the server made, as nodes; null where it is no SVG. Scripts, links elsewhere and listeners
 * are left out, though the server draws none and the page's policy would not run them.
 */
export function drawing(text) {
  const named = text.replace(/^\s*<svg(?![^>]*\sxmlns=)/, `<svg xmlns="${SVG}"`); // drawings for inside of HTML have none
  const root = new DOMParser().parseFromString(named, "image/svg+xml").documentElement;
  if (root.localName !== "svg" || root.querySelector("parsererror")) return null;
  for (const one of root.querySelectorAll("script, foreignObject, a, use, image")) one.remove();
  for (const one of [root, ...root.querySelectorAll("*")]) {
    for (const { name } of [...one.attributes]) if (name.startsWith("on") || name === "style") one.removeAttribute(name);
  }
  return document.importNode(root, true);
}

/** Say something to screen readers. */
export function announce(text) {
  document.getElementById("announcements").textContent = text;
}

/** Call a function once before the next drawing, however often it is asked for. */
export function oncePerFrame(work) {
  let asked = 0;
  return () => {
    if (!asked) {
      asked = requestAnimationFrame(() => {
        asked = 0;
        work();
      });
    }
  };
}
