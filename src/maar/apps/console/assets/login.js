// What went wrong at the last attempt: the server redirects to /login?problem=… with a sentence.
const problem = new URLSearchParams(location.search).get("problem");
if (problem) {
  const place = document.getElementById("problem");
  place.textContent = problem;
  place.hidden = false;
}
