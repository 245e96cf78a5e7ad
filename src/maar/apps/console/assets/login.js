// The way in: a token, or the key that a command has printed; and what went wrong at the last attempt. The server says
// both in the address, /login?with=key&problem=key; the sentences are here, so that a link cannot bring its own.

const asked = new URLSearchParams(location.search);
const place = (id) => document.getElementById(id);

const problems = {
  key: "That is not the key of this console. Open the address that the command has printed, which ends with a key.",
  token: "That is no token. kubectl create token NAME --namespace NAMESPACE makes one.",
  namespaces: "Those are too many namespaces: name at most 100.",
  rejected: "The API server rejects this token: it is unknown or has ended. kubectl create token NAME --namespace NAMESPACE makes a new one.",
  late: "The API server has not said yet what this token may read. Try again in a moment.",
};

if (Object.hasOwn(problems, asked.get("problem") ?? "")) {
  place("problem").textContent = problems[asked.get("problem")];
  place("problem").hidden = false;
}
if (asked.get("with") === "key") {
  place("token-label").textContent = "Key";
  place("token-help").textContent = "The command that started this console has printed an address that ends with a key: open that address, or paste the key here.";
  place("where").hidden = true;
}
