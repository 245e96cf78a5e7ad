// Addresses of pages: `#/jobs?queue=research&sort=-created`. Whatever a viewer chooses stands in the address, so
// that a copied link shows the same.

/** @returns {{page: string, parts: string[], choices: URLSearchParams}} what the address says */
export function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { page: parts[0] || "tree", parts: parts.slice(1), choices: new URLSearchParams(query) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // an address that somebody typed
  }
}

/** The address of a page: parts are escaped, empty choices left out. */
export function address(page, parts = [], choices = {}) {
  const path = [page === "tree" ? "" : page, ...parts.map(encodeURIComponent)].filter(Boolean).join("/");
  const kept = [...new URLSearchParams(choices)].filter(([, value]) => value !== "");
  const query = new URLSearchParams(kept).toString();
  return `#/${path}${query ? `?${query}` : ""}`;
}

export const queueAddress = (name) => address("queue", [name]);

/** The page of a job row: of its job, or of its pod group. */
export const jobAddress = (row) => address("job", [row.kind, row.namespace, row.name]);

/** Change choices of the present address in place, without another entry in the browser's history. */
export function choose(changes) {
  const { page, parts, choices } = route();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "" || value === false) choices.delete(name);
    else choices.set(name, value === true ? "1" : value);
  }
  history.replaceState(null, "", address(page, parts, choices));
}
