/**
 * Exact quantities of the Kubernetes API (apimachinery `resource.Quantity`): `500m`, `10Gi`, `1e3`.
 * A quantity is `digits * 10^exponent` with bigint digits, never a floating-point number.
 */

/** How a quantity likes to be written; kept through arithmetic, as upstream keeps it. */
export type QuantityFormat = "DecimalSI" | "DecimalExponent" | "BinarySI";

/** The text is not a quantity. The message is the API server's. */
export class QuantityError extends Error {
  override readonly name = "QuantityError";
}

const wrongForm =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const wrongSuffix = "unable to parse quantity's suffix";
const wrongNumber = "unable to parse numeric part of quantity";

/**
 * Maximum number of digits, leading zeros apart. Reading and writing a bigint takes more than linear time:
 * upstream has no limit, but one quantity of three million digits would block the process for ten seconds.
 */
const maxDigits = 1000;
const tooManyDigits = `a quantity must not have more than ${maxDigits} digits`;

/** Powers of ten that the decimal suffixes stand for. */
const decimalSuffixes: ReadonlyMap<string, number> = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);
const decimalSuffixOf = new Map([...decimalSuffixes].map(([suffix, power]) => [power, suffix]));
/** Powers of 1024, by position. */
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** The smallest unit: a smaller remainder is rounded away from zero. */
const smallestExponent = -9;
const maxInt64 = 2n ** 63n - 1n;
/**
 * Maximum number of digits that upstream computes in int64; the text of such a number may be kept as it came.
 */
const maxShortDigits = 18;
/** Each character fits one part only: else a long text that is not a quantity would take quadratic time. */
const form = /^([+-]?)0*([1-9][0-9]*)?(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?|[-+])[0-9]*)?$/;

const maxNanoDigits = 60;
const maxNano = 10n ** 69n;

const tens = (power: number): bigint => 10n ** BigInt(power);
/**
 * Powers beyond this one stand for it: `1e999999999` is a legal quantity, and it would take minutes and
 * gigabytes to write out numbers that are too large for everything anyway.
 */
const maxPower = 5000;
const cappedTens = (power: number): bigint => tens(Math.min(power, maxPower));
const magnitude = (digits: bigint): bigint => (digits < 0n ? -digits : digits);

/** Divides and rounds away from zero: a small request never becomes nothing. */
function divideAway(digits: bigint, power: number): bigint {
  if (digits === 0n) return 0n;
  if (power > magnitude(digits).toString().length) return digits < 0n ? -1n : 1n;
  const divisor = tens(power);
  const quotient = digits / divisor;
  if (quotient * divisor === digits) return quotient;
  return digits < 0n ? quotient - 1n : quotient + 1n;
}

/** Memo of parsed texts: most objects have the same few. It is cleared when it is full. */
const parsed = new Map<string, Quantity>();
const maxParsed = 1024;
const maxParsedLength = 32;

/** An exact, immutable quantity. */
export class Quantity {
  readonly format: QuantityFormat;
  readonly #digits: bigint;
  readonly #exponent: number;
  #text: string | undefined;

  private constructor(digits: bigint, exponent: number, format: QuantityFormat, text?: string) {
    this.#digits = digits;
    this.#exponent = exponent;
    this.format = format;
    this.#text = text;
  }

  /** Reads a quantity as the API writes it. Throws QuantityError with the API server's message. */
  static parse(text: string): Quantity {
    const known = parsed.get(text);
    if (known !== undefined) return known;
    const quantity = Quantity.#parse(text);
    if (parsed.size >= maxParsed) parsed.clear();
    if (text.length <= maxParsedLength) parsed.set(text, quantity);
    return quantity;
  }

  static #parse(text: string): Quantity {
    if (text === "") throw new QuantityError(wrongForm);
    const match = form.exec(text);
    if (match === null) throw new QuantityError(wrongForm);
    const [, sign = "", whole = "", fraction = "", suffix = ""] = match;
    const { base, power, format } = readSuffix(suffix);
    if (whole.length + fraction.length > maxDigits) throw new QuantityError(tooManyDigits);
    // Upstream reads `.` and `+k` as zero, and refuses them only where it needs its slow way.
    const empty = !/[0-9]/.test(text.slice(0, text.length - suffix.length));
    const number = `${whole === "" ? "0" : whole}${fraction}`;
    const unsigned = BigInt(number);
    const digits = sign === "-" ? -unsigned : unsigned;
    if (base === 2) {
      const bytes = digits * 2n ** BigInt(power);
      const size = whole === "" ? 1 : whole.length;
      const short = fraction === "" && 15 - size - Math.trunc((power * 3) / 10) - 1 >= 0;
      // Upstream keeps the text of short numbers that are plainly in canonical form.
      if (short) return new Quantity(bytes, 0, "BinarySI", magnitude(digits) % 8n === 0n ? undefined : text);
      if (empty) throw new QuantityError(wrongNumber);
      return Quantity.#binary(bytes, fraction.length);
    }
    const exponent = power - fraction.length;
    if (exponent < smallestExponent) {
      if (empty) throw new QuantityError(wrongNumber);
      return new Quantity(divideAway(digits, smallestExponent - exponent), smallestExponent, format);
    }
    const short = (whole === "" ? 1 : whole.length) + fraction.length <= maxShortDigits;
    const kept = short && exponent % 3 === 0 && !number.endsWith("000") && !number.startsWith("0");
    return new Quantity(digits, exponent, format, kept ? text : undefined);
  }

  static #binary(bytes: bigint, places: number): Quantity {
    let value = bytes;
    let exponent = -places;
    if (exponent < smallestExponent) {
      value = divideAway(value, smallestExponent - exponent);
      exponent = smallestExponent;
    }
    const one = tens(-exponent);
    if (magnitude(value) > maxInt64 * one) {
      value = value < 0n ? -maxInt64 : maxInt64;
      exponent = 0;
    }
    const small = value !== 0n && magnitude(value) < one;
    return new Quantity(value, exponent, small ? "DecimalSI" : "BinarySI");
  }

  /** A whole number of units. */
  static of(value: bigint | number, format: QuantityFormat = "DecimalSI"): Quantity {
    return new Quantity(BigInt(value), 0, format);
  }

  /** A number of thousandths. */
  static ofMilli(value: bigint | number, format: QuantityFormat = "DecimalSI"): Quantity {
    return new Quantity(BigInt(value), -3, format);
  }

  /** A number of billionths, the smallest unit there is. */
  static ofNano(value: bigint | number, format: QuantityFormat = "DecimalSI"): Quantity {
    return new Quantity(BigInt(value), -9, format);
  }

  /** -1, 0 or 1. */
  get sign(): -1 | 0 | 1 {
    return this.#digits === 0n ? 0 : this.#digits < 0n ? -1 : 1;
  }

  /** The value in units, rounded away from zero. */
  value(): bigint {
    return this.#scaled(0);
  }

  /** The value in thousandths, rounded away from zero. */
  milliValue(): bigint {
    return this.#scaled(-3);
  }

  /**
   * The value in billionths, the smallest unit there is: exact, but that numbers of more than 60 digits stand
   * for the largest one that has as many (`1e1000000` is a legal quantity, too large to compute with).
   */
  nanoValue(): bigint {
    if (this.#digits === 0n) return 0n;
    if (this.#magnitudeLength() > maxNanoDigits) return this.#digits < 0n ? -maxNano : maxNano;
    return this.#scaled(-9);
  }

  /** The nearest floating-point number: for display and scores, not for decisions. */
  toNumber(): number {
    return Number(`${this.#digits}e${this.#exponent}`);
  }

  /** True where the value is a whole number. */
  isInteger(): boolean {
    if (this.#exponent >= 0 || this.#digits === 0n) return true;
    return this.#digits % tens(-this.#exponent) === 0n;
  }

  /** -1, 0 or 1 as this is smaller than, equal to or larger than the other. */
  compare(other: Quantity): -1 | 0 | 1 {
    if (this.#exponent === other.#exponent) {
      return this.#digits === other.#digits ? 0 : this.#digits < other.#digits ? -1 : 1;
    }
    if (this.sign !== other.sign) return this.sign < other.sign ? -1 : 1;
    if (this.sign === 0) return 0;
    // Numbers like 1e1000000000 are compared by their length and never written out.
    const length = this.#magnitudeLength();
    const otherLength = other.#magnitudeLength();
    if (length !== otherLength) return length < otherLength === this.sign > 0 ? -1 : 1;
    const [a, b] = aligned(this.#digits, this.#exponent, other.#digits, other.#exponent);
    return a === b ? 0 : a < b ? -1 : 1;
  }

  equals(other: Quantity): boolean {
    return this.compare(other) === 0;
  }

  add(other: Quantity): Quantity {
    return this.#combine(other, (a, b) => a + b);
  }

  sub(other: Quantity): Quantity {
    return this.#combine(other, (a, b) => a - b);
  }

  /** Times a whole number. */
  multiply(factor: bigint | number): Quantity {
    return new Quantity(this.#digits * BigInt(factor), this.#exponent, this.format);
  }

  /** Times another number, in billionths that are rounded away from zero; in the form of this one. */
  scale(factor: Quantity): Quantity {
    const product = new Quantity(
      this.#digits * factor.#digits,
      this.#exponent + factor.#exponent,
      this.format,
    );
    return product.roundUp(-9);
  }

  negate(): Quantity {
    return new Quantity(-this.#digits, this.#exponent, this.format);
  }

  /** Rounded away from zero to a multiple of 10^power; the same object where nothing is lost. */
  roundUp(power: number): Quantity {
    if (this.#exponent >= power) return this;
    return new Quantity(divideAway(this.#digits, power - this.#exponent), power, this.format);
  }

  /** The canonical text; a text that was parsed is kept where upstream keeps it (`1e3`, `+5`). */
  toString(): string {
    this.#text ??= this.#canonical();
    return this.#text;
  }

  toJSON(): string {
    return this.toString();
  }

  #combine(other: Quantity, operation: (a: bigint, b: bigint) => bigint): Quantity {
    const format = this.sign === 0 ? other.format : this.format;
    if (this.sign === 0) return new Quantity(operation(0n, other.#digits), other.#exponent, format);
    if (other.sign === 0) return new Quantity(this.#digits, this.#exponent, format);
    const [a, b] = aligned(this.#digits, this.#exponent, other.#digits, other.#exponent);
    return new Quantity(operation(a, b), Math.min(this.#exponent, other.#exponent), format);
  }

  #magnitudeLength(): number {
    return magnitude(this.#digits).toString().length + this.#exponent;
  }

  #scaled(power: number): bigint {
    if (this.#digits === 0n) return 0n;
    const shift = this.#exponent - power;
    return shift >= 0 ? this.#digits * cappedTens(shift) : divideAway(this.#digits, -shift);
  }

  #canonical(): string {
    if (this.#digits === 0n) return "0";
    if (this.format === "BinarySI" && this.isInteger()) {
      let amount = this.#scaled(0);
      if (magnitude(amount) >= 1024n) {
        let step = 0;
        while (step < binarySuffixes.length - 1 && amount % 1024n === 0n) {
          amount /= 1024n;
          step++;
        }
        return `${amount}${binarySuffixes[step]}`;
      }
    }
    let amount = this.#digits;
    let exponent = this.#exponent;
    while (amount % 10n === 0n) {
      amount /= 10n;
      exponent++;
    }
    const above = ((exponent % 3) + 3) % 3;
    amount *= tens(above);
    exponent -= above;
    if (this.format === "DecimalExponent") return exponent === 0 ? `${amount}` : `${amount}e${exponent}`;
    const suffix = decimalSuffixOf.get(exponent);
    // Upstream writes such a number without any suffix and so loses its size.
    return `${amount}${suffix ?? `e${exponent}`}`;
  }
}

/** Both numbers at the smaller of the two exponents. */
function aligned(a: bigint, aExponent: number, b: bigint, bExponent: number): [bigint, bigint] {
  if (aExponent > bExponent) return [a * cappedTens(aExponent - bExponent), b];
  return [a, b * cappedTens(bExponent - aExponent)];
}

function readSuffix(suffix: string): { base: 2 | 10; power: number; format: QuantityFormat } {
  const decimal = decimalSuffixes.get(suffix);
  if (decimal !== undefined) return { base: 10, power: decimal, format: "DecimalSI" };
  const binary = binarySuffixes.indexOf(suffix);
  if (binary > 0) return { base: 2, power: binary * 10, format: "BinarySI" };
  if (/^[eE][-+]?[0-9]+$/.test(suffix)) {
    const power = Number(suffix.slice(1));
    // The exponent of an API quantity is an int32.
    if (Math.abs(power) < 2 ** 31) return { base: 10, power, format: "DecimalExponent" };
  }
  throw new QuantityError(wrongSuffix);
}

/**
 * The text the API server stores for a quantity that a client wrote as text or as a JSON number
 * (its digits, where the reader kept them). Throws QuantityError.
 */
export function canonicalQuantity(value: string | number): string {
  return Quantity.parse(String(value).trim()).toString();
}
