/** Between how many characters, bytes or elements a value has: unsigned 64-bit integers that stop at their end. */
export interface Size {
  readonly least: bigint;
  readonly most: bigint;
}

/** The end of unsigned 64-bit integers: as good as no bound, of sizes as of costs. */
export const unlimited: bigint = 2n ** 64n - 1n;

export const upTo = (most: bigint): Size => ({ least: 0n, most });
export const exactly = (size: bigint): Size => ({ least: size, most: size });
export const anySize: Size = upTo(unlimited);
/** Of no value at all: joined with another size it changes nothing. */
export const noSize: Size = { least: unlimited, most: 0n };

const atMost = (count: bigint): bigint => (count > unlimited ? unlimited : count);
/** Sums and products that stop at the end. */
export const plus = (...counts: readonly bigint[]): bigint => atMost(counts.reduce((sum, n) => sum + n, 0n));
export const times = (a: bigint, b: bigint): bigint => atMost(a * b);
export const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);
export const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
/** Where upstream forgets that integers end. */
export const wrapped = (count: bigint): bigint => BigInt.asUintN(64, count);

const end = 2 ** 64;

/** A count times a fraction, rounded up, computed in floating point as upstream does. */
export function scaled(count: bigint, factor: number): bigint {
  const all = Number(count);
  if (all > 0 && factor > 0 && all > end / factor) return unlimited;
  const result = Math.ceil(all * factor);
  return result >= end ? unlimited : BigInt(result);
}

export const eitherSize = (a: Size, b: Size): Size => ({
  least: smaller(a.least, b.least),
  most: larger(a.most, b.most),
});
export const sumSize = (a: Size, b: Size): Size => ({
  least: plus(a.least, b.least),
  most: plus(a.most, b.most),
});
export const productSize = (a: Size, b: Size): Size => ({
  least: times(a.least, b.least),
  most: times(a.most, b.most),
});
