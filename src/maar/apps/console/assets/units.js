// Quantities, durations and times as people read them. Amounts come in the units of Maar's core:
// CPU in thousandths, memory and storage in bytes, everything else whole.

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const IN_BYTES = (resource) =>
  resource === "memory" || resource.endsWith("storage") || resource.startsWith("hugepages-") || resource === "storage";

/** About how much, in at most four characters and a unit. */
export function roughly(resource, amount) {
  if (amount === null || amount === undefined) return "–";
  if (resource === "cpu") return compact(amount / 1000);
  if (IN_BYTES(resource)) {
    let value = amount;
    let unit = 0;
    while (Math.abs(value) >= 1024 && unit < BINARY.length - 1) {
      value /= 1024;
      unit += 1;
    }
    return `${significant(value)}${BINARY[unit]}`;
  }
  return compact(amount);
}

/** The exact amount, as Kubernetes writes quantities. */
export function precisely(resource, amount) {
  if (amount === null || amount === undefined) return "none";
  if (resource === "cpu") return amount % 1000 ? `${amount}m` : `${amount / 1000}`;
  if (!IN_BYTES(resource)) return `${amount}`;
  let unit = 0;
  let value = amount;
  while (value && value % 1024 === 0 && unit < BINARY.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value}${BINARY[unit]}`;
}

/** A quantity of Kubernetes as an amount; NaN where it is none. */
export function amountOf(resource, text) {
  const found = /^([0-9.]+)(m|k|M|G|T|Ki|Mi|Gi|Ti|Pi)?$/.exec(text.trim());
  if (!found) return NaN;
  const scales = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
  const unit = found[2] ?? "";
  const scale = unit.endsWith("i") ? 1024 ** BINARY.indexOf(unit) : (scales[unit] ?? 1);
  return Math.round(Number(found[1]) * scale * (resource === "cpu" ? 1000 : 1));
}

/** Amounts of several resources in one line. */
export function amounts(all) {
  const parts = Object.entries(all ?? {}).filter(([name, amount]) => amount && name !== "pods");
  return parts.map(([name, amount]) => `${resourceWord(name)} ${roughly(name, amount)}`).join(", ") || "nothing";
}

/** The name of a resource without its vendor. */
export function resourceWord(name) {
  const word = name.slice(name.lastIndexOf("/") + 1);
  return { cpu: "CPU", gpu: "GPU" }[word] ?? word;
}

/** A part as percents. */
export function percent(part) {
  if (!Number.isFinite(part)) return "–";
  const value = part * 100;
  return `${value !== 0 && Math.abs(value) < 10 ? value.toFixed(1) : Math.round(value)}\u00a0%`;
}

function compact(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${significant(value / 1e6)}M`;
  if (size >= 1e4) return `${significant(value / 1e3)}k`;
  return significant(value);
}

function significant(value) {
  const size = Math.abs(value);
  if (Number.isInteger(value)) return String(value);
  if (size >= 100) return String(Math.round(value));
  return String(Number(value.toFixed(size >= 10 ? 1 : 2)));
}

/** A duration in its two largest units: `3 min`, `2 h 5 min`, `4 d`. */
export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  if (hours < 24) return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
  const days = Math.floor(hours / 24);
  return hours % 24 && days < 10 ? `${days} d ${hours % 24} h` : `${days} d`;
}

/** A moment as a time of the day, with the day where that is another. */
export function moment(seconds, now = Date.now() / 1000) {
  const date = new Date(seconds * 1000);
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  const sameDay = date.toDateString() === new Date(now * 1000).toDateString();
  return sameDay ? time : `${date.toLocaleDateString([], { month: "short", day: "numeric" })} ${time}`;
}

/** A time of an answer, epoch seconds or RFC 3339, in epoch seconds; null where there is none. */
export function seconds(value) {
  if (value === null || value === undefined || value === "") return null;
  const found = typeof value === "number" ? value : Date.parse(value) / 1000;
  return Number.isFinite(found) && found > 0 ? found : null;
}

/** `1 job`, `2 jobs`. */
export function counted(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}
