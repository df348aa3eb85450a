/**
 * One class among which a sum is divided: it gets between `lower` and `upper`, otherwise in proportion to its
 * target.
 */
export interface Share {
  /** At least `lower`. */
  readonly target: number;
  readonly lower: number;
  readonly upper: number;
}

export interface Allocation {
  /** One for each share, in their order. */
  readonly amounts: readonly number[];
  /** Fraction of its target that a share gets if no bound applies. */
  readonly fraction: number;
}

/** Minimum of targets: a share without a target still gets its part of the rest. */
const minTarget = 0.001;

/**
 * Divides a sum so that all shares get the same fraction of their targets, except where a bound applies. If
 * the bounds do not fit the sum, each gets its bound.
 *
 * Upstream: apiserver/pkg/util/flowcontrol/conc_alloc.go, computeConcurrencyAllocation
 */
export function allocate(sum: number, shares: readonly Share[]): Allocation {
  const targets = shares.map(({ target }) => Math.max(target, minTarget));
  const at = (fraction: number): number[] =>
    shares.map(({ lower, upper }, index) => Math.max(lower, Math.min(upper, fraction * targets[index]!)));
  const total = (amounts: readonly number[]): number => amounts.reduce((a, b) => a + b, 0);
  // Between two of these fractions the total is linear.
  const fractions = shares
    .flatMap(({ lower, upper }, index) => [lower / targets[index]!, upper / targets[index]!])
    .sort((a, b) => a - b);
  let [below, totalBelow] = [0, total(at(0))];
  if (sum <= totalBelow) return { amounts: at(0), fraction: 0 };
  for (const above of fractions) {
    const totalAbove = total(at(above));
    if (totalAbove >= sum) {
      const fraction =
        totalAbove === totalBelow
          ? above
          : below + ((sum - totalBelow) / (totalAbove - totalBelow)) * (above - below);
      return { amounts: at(fraction), fraction };
    }
    [below, totalBelow] = [above, totalAbove];
  }
  return { amounts: shares.map(({ upper }) => upper), fraction: below };
}
