import { Quantity } from "@dray/api";
import { inInt } from "./integers.ts";

/**
 * The number of Go's resource.Quantity: digits times a power of ten. `asInteger()` and `asApproximateFloat()`
 * depend on the representation.
 */
export interface Amount {
  readonly digits: bigint;
  readonly exponent: number;
  /**
   * In 64 bits (Go's int64Amount), until parsing or arithmetic overflows; else a big integer (infDecAmount).
   */
  readonly short: boolean;
}

const form = /^([+-]?)0*([0-9]*)(?:\.([0-9]*))?(.*)$/;
const decimalSuffixes: Readonly<Record<string, number>> = {
  n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18,
}; // biome-ignore format: a table reads better in lines
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** Maximum number of digits that always fit into 64 bits. */
const maxShortDigits = 18;
/** The precision of a quantity is 10^-9. */
const minExponent = -9;
const maxInt = 2n ** 63n - 1n;
/** Maximum number of digits of a computation: `1e1000000000` is a valid quantity. */
const maxDigits = 10_000;

/** Throws a RangeError for more than 10,000 digits. */
function tens(power: number): bigint {
  if (power > maxDigits) throw new RangeError(`a quantity has more than ${maxDigits} digits`);
  return 10n ** BigInt(power);
}

const magnitude = (value: bigint): bigint => (value < 0n ? -value : value);

/** Parses a valid quantity (see Quantity.parse). */
export function amountOf(text: string): Amount {
  // The form matches each quantity.
  const [, sign = "", rest = "", fraction = "", suffix = ""] = form.exec(text)!;
  const whole = rest === "" ? "0" : rest;
  const unsigned = BigInt(whole + fraction);
  const digits = sign === "-" ? -unsigned : unsigned;
  const step = binarySuffixes.indexOf(suffix);
  if (step > 0) return binaryAmount(digits, whole, fraction, step * 10);
  const exponent = (decimalSuffixes[suffix] ?? Number(suffix.slice(1))) - fraction.length;
  const short = whole.length + fraction.length <= maxShortDigits && exponent >= minExponent;
  return short ? { digits, exponent, short } : atNano(digits, exponent);
}

function binaryAmount(digits: bigint, whole: string, fraction: string, power: number): Amount {
  const bytes = digits * 2n ** BigInt(power);
  const room = 15 - whole.length - Math.trunc((power * 3) / 10) - 1;
  if (fraction === "" && room >= 0) return { digits: bytes, exponent: 0, short: true };
  const amount = atNano(bytes, -fraction.length);
  if (magnitude(amount.digits) <= maxInt * tens(-amount.exponent)) return amount;
  return { digits: bytes < 0n ? -maxInt : maxInt, exponent: 0, short: false };
}

/** Rounds away from zero to billionths. */
function atNano(digits: bigint, exponent: number): Amount {
  const shift = exponent - minExponent;
  if (digits === 0n || shift >= 0) {
    return { digits: digits === 0n ? 0n : digits * tens(shift), exponent: minExponent, short: false };
  }
  const size = (magnitude(digits) + tens(-shift) - 1n) / tens(-shift);
  return { digits: digits < 0n ? -size : size, exponent: minExponent, short: false };
}

/** The sum, in 64 bits if both operands are and it does not overflow. */
export function addAmounts(a: Amount, b: Amount): Amount {
  if (a.short && b.short) {
    if (b.digits === 0n) return a;
    if (a.digits === 0n) return b;
  }
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = [a, b].map((amount) => amount.digits * tens(amount.exponent - exponent)) as [bigint, bigint];
  const digits = scaled[0] + scaled[1];
  const short = a.short && b.short && inInt(scaled[0]) && inInt(scaled[1]) && inInt(digits);
  return { digits, exponent, short };
}

/** The difference. Upstream negates the second operand, and ignores the overflow for the minimum int. */
export function subtractAmounts(a: Amount, b: Amount): Amount {
  if (a.short && b.short) {
    const sum = addAmounts(a, { ...b, digits: BigInt.asIntN(64, -b.digits) });
    if (sum.short) return sum;
  }
  return addAmounts({ ...a, short: false }, { ...b, digits: -b.digits, short: false });
}

/** The quantity of an amount, for comparisons. */
export function quantityOf({ digits, exponent }: Amount): Quantity {
  if (exponent >= minExponent && exponent <= 0) {
    const nano = digits * tens(exponent - minExponent);
    return Quantity.parse(`${nano}n`);
  }
  return Quantity.parse(`${digits}e${exponent}`);
}

/** The integer, if upstream finds one: not for `1000m`, and only in 64 bits. */
export function integerOf({ digits, exponent, short }: Amount): bigint | undefined {
  if (!short || exponent < 0) return undefined;
  if (digits === 0n) return 0n;
  if (exponent > maxShortDigits) return undefined;
  const value = digits * tens(exponent);
  return inInt(value) ? value : undefined;
}

const power = (exponent: number): number => Number(`1e${exponent}`);

/** 10^exponent like Go's math.Pow10, which multiplies two numbers of a table. */
function powerOfTen(exponent: number): number {
  if (exponent > 308) return Number.POSITIVE_INFINITY;
  if (exponent < -323) return 0;
  const size = Math.abs(exponent);
  const large = size - (size % 32);
  return exponent < 0 ? power(-large) / power(size % 32) : power(large) * power(size % 32);
}

/** The product of two doubles, which is not always the nearest double. */
export function approximate({ digits, exponent }: Amount): number {
  return exponent === 0 ? Number(digits) : Number(digits) * powerOfTen(exponent);
}
