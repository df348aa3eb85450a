import { plainDouble } from "../../values/value-text.ts";

/** The value of a finite double as a whole number of 2^-exponent. */
function exact(value: number): { mantissa: bigint; exponent: number } {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, Math.abs(value));
  const bits = view.getBigUint64(0);
  const fraction = bits & ((1n << 52n) - 1n);
  const power = Number(bits >> 52n);
  // Numbers below 2^-1022 have no leading one.
  return power === 0
    ? { mantissa: fraction, exponent: 1074 }
    : { mantissa: fraction | (1n << 52n), exponent: 1075 - power };
}

/** No double has more digits behind the point. */
const mostDigits = 1074;

/** A half goes to the even neighbour. */
function divideToEven(value: bigint, by: bigint): bigint {
  const whole = value / by;
  const twice = (value % by) * 2n;
  return twice > by || (twice === by && whole % 2n === 1n) ? whole + 1n : whole;
}

/** |value| times 10^digits, rounded. */
function scaled(value: number, digits: number): bigint {
  const { mantissa, exponent } = exact(value);
  const tens = 10n ** BigInt(Math.abs(digits));
  const above = (digits < 0 ? mantissa : mantissa * tens) << BigInt(Math.max(0, -exponent));
  const below = (digits < 0 ? tens : 1n) << BigInt(Math.max(0, exponent));
  return divideToEven(above, below);
}

const sign = (value: number): string => (value < 0 ? "-" : "");
const infinite = (value: number): string => (Number.isNaN(value) ? "NaN" : `${sign(value)}∞`);

/** With commas between thousands, `1,234.50`: so many digits behind the point, where that is a sane number. */
export function fixedText(value: number, digits: number): string {
  if (!Number.isFinite(value)) return infinite(value);
  // Upstream keeps what to pad to in 8 bits, and where to round in 16, of which the upper half means "do not round".
  const least = digits % 256;
  const most = digits % 65_536;
  const [whole = "", fraction = ""] = most < 32_768 ? rounded(value, most) : shortest(value);
  const kept = fraction.replace(/0+$/, "").padEnd(least, "0");
  return sign(value) + whole.replace(/\B(?=([0-9]{3})+$)/g, ",") + (kept === "" ? "" : `.${kept}`);
}

/** Digits before and behind the point. */
type Parts = readonly [whole: string, fraction: string];

function rounded(value: number, digits: number): Parts {
  const kept = Math.min(digits, mostDigits);
  const all = scaled(value, kept)
    .toString()
    .padStart(kept + 1, "0");
  return [all.slice(0, all.length - kept), all.slice(all.length - kept)];
}

function shortest(value: number): Parts {
  const [whole = "", fraction = ""] = plainDouble(Math.abs(value)).split(".");
  return [whole, fraction];
}

const raised = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** With six digits behind the point and the exponent raised: `2.500000×10⁰⁰`. */
export function scientificText(value: number): string {
  if (!Number.isFinite(value)) return infinite(value);
  let power = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  // The logarithm may be off by one at powers of ten, and rounding may make one more digit.
  let digits = scaled(value, 6 - power).toString();
  if (value !== 0 && digits.length < 7) digits = scaled(value, 6 - --power).toString();
  else if (digits.length > 7) digits = scaled(value, 6 - ++power).toString();
  digits = digits.padEnd(7, "0");
  const exponent = String(Math.abs(power))
    .padStart(2, "0")
    .replace(/[0-9]/g, (digit) => raised[Number(digit)]!);
  return `${sign(value)}${digits[0]}.${digits.slice(1)}×10${power < 0 ? "⁻" : ""}${exponent}`;
}
