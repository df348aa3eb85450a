/** Words that YAML 1.1 resolves to other types than text. */
const words = new Set([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"],
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"],
  ...["", "~", "null", "Null", "NULL", ".nan", ".NaN", ".NAN"],
  ...["", "+", "-"].flatMap((sign) => [".inf", ".Inf", ".INF"].map((word) => sign + word)),
]);
const yamlFloat = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
const base60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const integer = /^[-+]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|[1-9][0-9]*|0)$/;

/** Reports whether this text, unquoted, would resolve to another type, by go-yaml's rules of YAML 1.1. */
export function needsQuotes(text: string): boolean {
  if (words.has(text)) return true;
  const first = text[0]!;
  if (first === ".") return dottedNumber.test(text);
  if (!/[-+0-9]/.test(first)) return false;
  if (base60.test(text) || isTimestamp(text)) return true;
  const plain = text.replaceAll("_", "");
  return (integer.test(plain) && inRange(plain)) || (yamlFloat.test(plain) && Number.isFinite(Number(plain)));
}

/** Texts that begin with a point and that Go's ParseFloat accepts. */
const dottedNumber = /^\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?$/;

/** An int64 or a uint64; a larger one is a float if written in decimal. */
function inRange(plain: string): boolean {
  if (yamlFloat.test(plain)) return true;
  const digits = plain.replace(/^[-+]/, "");
  const octal = /^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits;
  const value = BigInt(octal.toLowerCase());
  return plain.startsWith("-") ? value <= 1n << 63n : value < 1n << 64n;
}

const dates = [
  /^(\d{4})-(\d{1,2})-(\d{1,2})$/,
  /^(\d{4})-(\d{1,2})-(\d{1,2})[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(?:Z|[+-]\d{2}:\d{2})$/,
  /^(\d{4})-(\d{1,2})-(\d{1,2}) (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?$/,
];

function isTimestamp(text: string): boolean {
  for (const form of dates) {
    const match = form.exec(text);
    if (match === null) continue;
    const [year, month, day, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number) as [
      number,
      number,
      number,
    ];
    const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
    const dated = month >= 1 && month <= 12 && day >= 1 && day <= days;
    if (dated && hour < 24 && minute < 60 && second < 60) return true;
  }
  return false;
}
