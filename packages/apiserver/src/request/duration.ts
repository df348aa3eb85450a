import { quoted } from "@dray/api";

/** Milliseconds. */
const units: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["μs", 1e-3],
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);
/** A duration is a number of nanoseconds in 64 bits. */
const longest = 2 ** 63 / 1e6;

/** The text is no duration; the message is that of Go's time.ParseDuration. */
export class DurationError extends Error {
  override readonly name = "DurationError";
}

/** Reads a duration as Go writes it (`1m30s`, `1.5h`, `-5ms`, `0`); answers milliseconds. Throws DurationError. */
export function parseDuration(text: string): number {
  const sign = /^[+-]?/.exec(text)![0];
  let rest = text.slice(sign.length);
  if (rest === "0") return 0;
  const refuse = (why: string): never => {
    throw new DurationError(`time: ${why}${quoted(text)}`);
  };
  if (rest === "") refuse("invalid duration ");
  let total = 0;
  while (rest !== "") {
    const [whole, number = "", unit = ""] = /^(\d*(?:\.\d*)?)([^.\d]*)/.exec(rest)!;
    if (!/\d/.test(number) || Number.parseInt(number, 10) > 2 ** 63) refuse("invalid duration ");
    if (unit === "") refuse("missing unit in duration ");
    const size = units.get(unit);
    if (size === undefined) return refuse(`unknown unit ${quoted(unit)} in duration `);
    total += Number(number) * size;
    if (total >= longest) refuse("invalid duration ");
    rest = rest.slice(whole.length);
  }
  return sign === "-" ? -total : total;
}
