import { DurationError, parseDuration, Quantity, QuantityError } from "@dray/api";
import { type EvictionSignal, evictionSignals, type Observation, type Observations } from "./signals.ts";

/** An amount, or a fraction of the capacity. */
export type ThresholdValue = { readonly quantity: Quantity } | { readonly fraction: number };

/** A threshold of a signal below which pods are evicted. */
export interface Threshold {
  readonly signal: EvictionSignal;
  readonly value: ThresholdValue;
  /** Milliseconds for which it has to be met; 0 for a hard threshold. */
  readonly gracePeriod: number;
  /** Amount above the threshold that has to be free before it counts as resolved. */
  readonly minReclaim?: ThresholdValue;
}

/** Thresholds as in flags: texts by signal. */
export interface ThresholdTexts {
  readonly hard: ReadonlyMap<string, string>;
  readonly soft: ReadonlyMap<string, string>;
  readonly softGracePeriod: ReadonlyMap<string, string>;
  readonly minimumReclaim: ReadonlyMap<string, string>;
}

/** One of the texts is invalid. */
export class ThresholdError extends Error {
  override readonly name = "ThresholdError";
  readonly part: keyof ThresholdTexts;

  constructor(part: keyof ThresholdTexts, message: string) {
    super(message);
    this.part = part;
  }
}

/** Default hard thresholds. Upstream: pkg/kubelet/eviction/defaults_linux.go. */
export const defaultHardThresholds: ReadonlyMap<string, string> = new Map([
  ["memory.available", "100Mi"],
  ["nodefs.available", "10%"],
  ["nodefs.inodesFree", "5%"],
  ["imagefs.available", "15%"],
  ["imagefs.inodesFree", "5%"],
]);

/**
 * Parses thresholds; `0%` and `100%` disable one. Throws a ThresholdError.
 *
 * Upstream: pkg/kubelet/eviction/helpers.go, ParseThresholdConfig.
 */
export function parseThresholds(texts: ThresholdTexts): Threshold[] {
  const periods = new Map(
    [...texts.softGracePeriod].map(([name, text]) => [
      signalOf("softGracePeriod", name),
      gracePeriodOf(name, text),
    ]),
  );
  const reclaims = new Map(
    [...texts.minimumReclaim].map(([name, text]) => [
      signalOf("minimumReclaim", name),
      thresholdValue("minimumReclaim", name, text),
    ]),
  );
  const read = (part: "hard" | "soft"): Threshold[] =>
    [...texts[part]].flatMap(([name, text]): Threshold[] => {
      const signal = signalOf(part, name);
      if (text === "0%" || text === "100%") return [];
      const value = thresholdValue(part, name, text);
      const gracePeriod = part === "hard" ? 0 : periods.get(signal);
      if (gracePeriod === undefined)
        throw new ThresholdError(
          part,
          `a grace period of ${name} is needed, as in --eviction-soft-grace-period ${name}=1m30s`,
        );
      const minReclaim = reclaims.get(signal);
      return [{ signal, value, gracePeriod, ...(minReclaim !== undefined && { minReclaim }) }];
    });
  return [...read("hard"), ...read("soft")];
}

function signalOf(part: keyof ThresholdTexts, name: string): EvictionSignal {
  if (Object.hasOwn(evictionSignals, name)) return name as EvictionSignal;
  throw new ThresholdError(
    part,
    `unknown signal ${name}: must be one of ${Object.keys(evictionSignals).join(", ")}`,
  );
}

function gracePeriodOf(name: string, text: string): number {
  try {
    const milliseconds = Number(parseDuration(text)) / 1e6;
    if (milliseconds >= 0) return milliseconds;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
  }
  throw new ThresholdError(
    "softGracePeriod",
    `${name}=${text}: must be a duration of 0s or more, such as 1m30s`,
  );
}

function thresholdValue(
  part: "hard" | "soft" | "minimumReclaim",
  name: string,
  text: string,
): ThresholdValue {
  const sign = part === "minimumReclaim" ? "=" : "<";
  const wrong = new ThresholdError(
    part,
    `${name}${sign}${text}: must be an amount above 0, such as 500Mi, or a percentage from 0% to 100%`,
  );
  if (text.endsWith("%")) {
    const percentage = Number(text.slice(0, -1));
    if (!/^\d+(\.\d+)?%$/.test(text) || percentage > 100) throw wrong;
    // Single precision, as upstream: the amounts in messages are the same.
    return { fraction: Math.fround(Math.fround(percentage) / 100) };
  }
  try {
    const quantity = Quantity.parse(text);
    if (quantity.sign > 0 || (part === "minimumReclaim" && quantity.sign === 0)) return { quantity };
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
  }
  throw wrong;
}

/** Resolves a value to an amount. Upstream: pkg/kubelet/eviction/api/types.go, GetThresholdQuantity. */
export function amountOf(value: ThresholdValue, capacity: Quantity): Quantity {
  if ("quantity" in value) return value.quantity;
  return Quantity.of(Math.trunc(Number(capacity.value()) * value.fraction), "BinarySI");
}

/**
 * Returns the thresholds that are met; with `reclaim`, those with less free than the threshold and its
 * minimum reclaim.
 */
export function metThresholds(
  thresholds: readonly Threshold[],
  observations: Observations,
  reclaim: boolean,
): Threshold[] {
  return thresholds.filter((threshold) => {
    const observed = observations.get(threshold.signal);
    return observed !== undefined && needed(threshold, observed, reclaim).compare(observed.available) > 0;
  });
}

function needed({ value, minReclaim }: Threshold, { capacity }: Observation, reclaim: boolean): Quantity {
  const amount = amountOf(value, capacity);
  return reclaim && minReclaim !== undefined ? amount.add(amountOf(minReclaim, capacity)) : amount;
}
