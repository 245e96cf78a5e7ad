// Requests to the console's own server. Every refusal becomes an ApiError with the server's sentence.

export class ApiError extends Error {
  constructor(status, sentence, sentences) {
    super(sentence);
    this.status = status;
    this.sentences = sentences?.length ? sentences : [sentence];
  }
}

/** @returns {Promise<any>} the answer of a GET; parameters that are null or empty are left out */
export function get(path, parameters = {}, signal = undefined) {
  const kept = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(kept).toString();
  return answerOf(path, fetch(query ? `${path}?${query}` : path, { signal, headers: { Accept: "application/json" } }));
}

/** @returns {Promise<any>} the answer of a POST; the header shows that this page sent it, not another site */
export function post(path, body, signal = undefined) {
  const headers = { "Content-Type": "application/json", "X-Maar-Console": "1" };
  return answerOf(path, fetch(path, { method: "POST", signal, headers, body: JSON.stringify(body) }));
}

async function answerOf(path, request) {
  let response;
  try {
    response = await request;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The console's server does not answer. Look whether `maar console` still runs.");
  }
  if (response.status === 401) {
    location.assign("/"); // which leads to the right way in
    throw new ApiError(401, "The session has ended; sign in again.");
  }
  const text = await response.text();
  let answer = null;
  try {
    answer = text ? JSON.parse(text) : null;
  } catch {
    answer = null;
  }
  if (!response.ok) {
    throw new ApiError(response.status, answer?.error || `${path} answered ${response.status}.`, answer?.sentences);
  }
  return answer;
}
