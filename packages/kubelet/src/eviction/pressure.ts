import { evictionSignals, type Observations, type PressureCondition } from "./signals.ts";
import { metThresholds, type Threshold } from "./thresholds.ts";

/** State that is kept between observations. */
export interface PressureState {
  /** When each threshold that is met was first met, in milliseconds. */
  readonly firstMet: ReadonlyMap<Threshold, number>;
  /** When a threshold of each condition was last met. */
  readonly lastMet: ReadonlyMap<PressureCondition, number>;
  /** Thresholds that are met for their grace period and not resolved, the most urgent first. */
  readonly toReclaim: readonly Threshold[];
  /** Conditions of the Node. */
  readonly conditions: ReadonlySet<PressureCondition>;
}

export interface PressureRules {
  readonly thresholds: readonly Threshold[];
  /** Milliseconds for which a condition stays after its thresholds were last met. */
  readonly pressureTransitionPeriod: number;
}

export const noPressure: PressureState = {
  firstMet: new Map(),
  lastMet: new Map(),
  toReclaim: [],
  conditions: new Set(),
};

/**
 * Returns the pressure after an observation. A threshold counts from when it is met for its grace period
 * until its minimum is reclaimed too; a condition stays for a while, so that it does not change with each
 * pod.
 *
 * Upstream: pkg/kubelet/eviction/eviction_manager.go, synchronize.
 */
export function nextPressure(
  before: PressureState,
  observations: Observations,
  rules: PressureRules,
  now: number,
): PressureState {
  const { thresholds, pressureTransitionPeriod } = rules;
  const unresolved = metThresholds(before.toReclaim, observations, true);
  const met = new Set([...metThresholds(thresholds, observations, false), ...unresolved]);
  const firstMet = new Map([...met].map((threshold) => [threshold, before.firstMet.get(threshold) ?? now]));
  const seen = new Set([...met].map(({ signal }) => evictionSignals[signal].condition));
  const lastMet = new Map([...before.lastMet, ...[...seen].map((condition) => [condition, now] as const)]);
  const recent = [...lastMet].filter(
    ([condition, at]) => seen.has(condition) || now - at < pressureTransitionPeriod,
  );
  const toReclaim = thresholds
    .filter(
      (threshold) => now - (firstMet.get(threshold) ?? Number.POSITIVE_INFINITY) >= threshold.gracePeriod,
    )
    .toSorted((a, b) => urgency(a) - urgency(b));
  return { firstMet, lastMet, toReclaim, conditions: new Set(recent.map(([condition]) => condition)) };
}

/** Memory is the most urgent. Upstream: pkg/kubelet/eviction/helpers.go, byEvictionPriority. */
function urgency({ signal }: Threshold): number {
  return signal === "memory.available" ? 0 : 1;
}
