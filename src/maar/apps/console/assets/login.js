// The way in: a token, or the key that a command has printed; and what went wrong at the last attempt. The server says
// both in the address, /login?with=key&problem=…

const asked = new URLSearchParams(location.search);
const place = (id) => document.getElementById(id);

if (asked.get("problem")) {
  place("problem").textContent = asked.get("problem");
  place("problem").hidden = false;
}
if (asked.get("with") === "key") {
  place("token-label").textContent = "Key";
  place("token-help").textContent = "The command that started this console has printed an address that ends with a key: open that address, or paste the key here.";
  place("where").hidden = true;
}
