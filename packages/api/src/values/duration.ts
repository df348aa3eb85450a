/**
 * Durations as Go's package time reads and writes them: `1h15m30.918s`. Numbers are nanoseconds in 64 bits.
 */
import { quotedTime } from "../text/quoted.ts";

const units: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  // The micro sign and the Greek letter.
  ["\u00b5s", 1_000n],
  ["\u03bcs", 1_000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);
const limit = 2n ** 63n;

/** The text is not a duration; the message is that of Go's time.ParseDuration. */
export class DurationError extends Error {
  override readonly name = "DurationError";
}

/**
 * Returns nanoseconds. Throws DurationError. Upstream: time.ParseDuration, to the bit, but that parts of 2^63
 * ns each do not overflow to zero.
 */
export function parseDuration(text: string): bigint {
  const fail = (why: string): never => {
    throw new DurationError(`time: ${why} ${quotedTime(text)}`);
  };
  const sign = /^[+-]/.test(text) ? text.slice(0, 1) : "";
  let rest = text.slice(sign.length);
  if (rest === "0") return 0n;
  if (rest === "") fail("invalid duration");
  let total = 0n;
  while (rest !== "") {
    const [part, whole = "", fraction = "", unit = ""] =
      /^([0-9]*)(?:\.([0-9]*))?([^.0-9]*)/.exec(rest) ?? fail("invalid duration");
    if (BigInt(whole) > limit || (whole === "" && fraction === "")) fail("invalid duration");
    if (unit === "") fail("missing unit in duration");
    const size = units.get(unit) ?? fail(`unknown unit ${quotedTime(unit)} in duration`);
    total += BigInt(whole) * size + fractionOf(fraction, size);
    if (total > limit) fail("invalid duration");
    rest = rest.slice(part.length);
  }
  if (sign === "-") return -total;
  return total === limit ? fail("invalid duration") : total;
}

/** Go computes it in float64, from no more digits than 64 bits hold. */
function fractionOf(digits: string, size: bigint): bigint {
  let value = 0n;
  let scale = 1;
  for (const digit of digits) {
    const next = value * 10n + BigInt(digit);
    if (value > (limit - 1n) / 10n || next > limit) break;
    value = next;
    scale *= 10;
  }
  return value === 0n ? 0n : BigInt(Math.trunc(Number(value) * (Number(size) / scale)));
}

/** `1m30s`, `1.5s`, `250ms`, `0s`. Upstream: time.Duration.String. */
export function durationText(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return "0s";
  const sign = nanoseconds < 0n ? "-" : "";
  const value = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  if (value < 1_000n) return `${sign}${value}ns`;
  if (value < 1_000_000n) return `${sign}${decimal(value, 3)}\u00b5s`;
  if (value < 1_000_000_000n) return `${sign}${decimal(value, 6)}ms`;
  const minutes = value / 60_000_000_000n;
  const seconds = `${decimal(value % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return `${sign}${seconds}`;
  if (minutes < 60n) return `${sign}${minutes}m${seconds}`;
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

/** The number divided by 10^places, without zeros at the end. */
function decimal(value: bigint, places: number): string {
  const digits = value.toString().padStart(places + 1, "0");
  const fraction = digits.slice(-places).replace(/0+$/, "");
  return `${digits.slice(0, -places)}${fraction === "" ? "" : `.${fraction}`}`;
}
