/**
 * The minimum and maximum number of code points, bytes or elements of a value (cel-go's
 * checker.SizeEstimate): unsigned 64-bit integers that saturate.
 */
export interface SizeEstimate {
  readonly min: bigint;
  readonly max: bigint;
}

/** 2^64-1: no bound, for sizes and for costs. */
export const unlimited: bigint = 2n ** 64n - 1n;

export const upTo = (max: bigint): SizeEstimate => ({ min: 0n, max });
export const exactly = (size: bigint): SizeEstimate => ({ min: size, max: size });
export const anySize: SizeEstimate = upTo(unlimited);
/** The identity of `unionSize`. */
export const noSize: SizeEstimate = { min: unlimited, max: 0n };

const saturate = (count: bigint): bigint => (count > unlimited ? unlimited : count);
/** Saturating sum. */
export const plus = (...counts: readonly bigint[]): bigint =>
  saturate(counts.reduce((sum, n) => sum + n, 0n));
/** Saturating product. */
export const times = (a: bigint, b: bigint): bigint => saturate(a * b);
export const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);
export const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
/** Wraps around, where upstream does not check for overflow. */
export const wrapped = (count: bigint): bigint => BigInt.asUintN(64, count);

const overflow = 2 ** 64;

/** A count times a factor, rounded up. Upstream computes it in floating point. */
export function scaled(count: bigint, factor: number): bigint {
  const double = Number(count);
  if (double > 0 && factor > 0 && double > overflow / factor) return unlimited;
  const result = Math.ceil(double * factor);
  return result >= overflow ? unlimited : BigInt(result);
}

/** Returns the size of a value that has one of two sizes. */
export const unionSize = (a: SizeEstimate, b: SizeEstimate): SizeEstimate => ({
  min: smaller(a.min, b.min),
  max: larger(a.max, b.max),
});
export const sumSize = (a: SizeEstimate, b: SizeEstimate): SizeEstimate => ({
  min: plus(a.min, b.min),
  max: plus(a.max, b.max),
});
export const productSize = (a: SizeEstimate, b: SizeEstimate): SizeEstimate => ({
  min: times(a.min, b.min),
  max: times(a.max, b.max),
});
