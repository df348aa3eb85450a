import { plainDouble } from "../../values/value-text.ts";

/** A finite double as an integer multiple of 2^-exponent. */
function exact(value: number): { mantissa: bigint; exponent: number } {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, Math.abs(value));
  const bits = view.getBigUint64(0);
  const fraction = bits & ((1n << 52n) - 1n);
  const power = Number(bits >> 52n);
  // Subnormal numbers have no leading one.
  return power === 0
    ? { mantissa: fraction, exponent: 1074 }
    : { mantissa: fraction | (1n << 52n), exponent: 1075 - power };
}

/** Maximum number of decimal digits of a double behind the point. */
const maxDecimals = 1074;

/** Rounds half to even. */
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

/** Formats with commas between thousands and a number of digits behind the point: `1,234.50`. */
export function fixedText(value: number, digits: number): string {
  if (!Number.isFinite(value)) return infinite(value);
  // Upstream pads to a number of 8 bits, and rounds to one of 16 bits; the upper half of those means "do not
  // round".
  const minDigits = digits % 256;
  const maxDigits = digits % 65_536;
  const [whole = "", fraction = ""] = maxDigits < 32_768 ? rounded(value, maxDigits) : shortest(value);
  const kept = fraction.replace(/0+$/, "").padEnd(minDigits, "0");
  return sign(value) + whole.replace(/\B(?=([0-9]{3})+$)/g, ",") + (kept === "" ? "" : `.${kept}`);
}

/** The digits before and behind the point. */
type Parts = readonly [whole: string, fraction: string];

function rounded(value: number, digits: number): Parts {
  const kept = Math.min(digits, maxDecimals);
  const all = scaled(value, kept)
    .toString()
    .padStart(kept + 1, "0");
  return [all.slice(0, all.length - kept), all.slice(all.length - kept)];
}

function shortest(value: number): Parts {
  const [whole = "", fraction = ""] = plainDouble(Math.abs(value)).split(".");
  return [whole, fraction];
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Formats with six digits behind the point and a superscript exponent: `2.500000×10⁰⁰`. */
export function scientificText(value: number): string {
  if (!Number.isFinite(value)) return infinite(value);
  let power = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  // The logarithm can be off by one at powers of ten, and rounding can add a digit.
  let digits = scaled(value, 6 - power).toString();
  if (value !== 0 && digits.length < 7) digits = scaled(value, 6 - --power).toString();
  else if (digits.length > 7) digits = scaled(value, 6 - ++power).toString();
  digits = digits.padEnd(7, "0");
  const exponent = String(Math.abs(power))
    .padStart(2, "0")
    .replace(/[0-9]/g, (digit) => superscripts[Number(digit)]!);
  return `${sign(value)}${digits[0]}.${digits.slice(1)}×10${power < 0 ? "⁻" : ""}${exponent}`;
}
