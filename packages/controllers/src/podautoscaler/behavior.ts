import type { HorizontalPodAutoscalerSpec, HPAScalingRules } from "@dray/api/autoscaling/v2";

/** Milliseconds for which a higher recommendation keeps pods from being taken away, unless the spec says. */
const stabilization = 300_000;
/** Without rules: at most twice as many pods at a time, or four. */
const maxFactor = 2;
const minLimit = 4;

interface Entry {
  readonly at: number;
  readonly replicas: number;
}

/** The size after all limits, and what the conditions say of it. */
export interface Normalized {
  readonly replicas: number;
  /** Reason and message of `AbleToScale`. */
  readonly stability: { readonly reason: string; readonly message: string };
  /** Of `ScalingLimited`, which is true if `limited`. */
  readonly limited: boolean;
  readonly limit: { readonly reason: string; readonly message: string };
}

const ready = { reason: "ReadyForNewScale", message: "recommended size matches current size" };
const wasHigher = {
  reason: "ScaleDownStabilized",
  message: "recent recommendations were higher than current one, applying the highest recent recommendation",
};
const wasLower = {
  reason: "ScaleUpStabilized",
  message: "recent recommendations were lower than current one, applying the lowest recent recommendation",
};
const limits = {
  within: { reason: "DesiredWithinRange", message: "the desired count is within the acceptable range" },
  tooMany: {
    reason: "TooManyReplicas",
    message: "the desired replica count is more than the maximum replica count",
  },
  tooFew: {
    reason: "TooFewReplicas",
    message: "the desired replica count is less than the minimum replica count",
  },
  up: {
    reason: "ScaleUpLimit",
    message: "the desired replica count is increasing faster than the maximum scale rate",
  },
  down: {
    reason: "ScaleDownLimit",
    message: "the desired replica count is decreasing faster than the maximum scale rate",
  },
};

/**
 * Recommendations and scalings of one autoscaler, which limit how fast it may scale. Lost at a restart, after
 * which the size that was found counts as recommended.
 *
 * Upstream: pkg/controller/podautoscaler/horizontal.go, normalizeDesiredReplicas and what it calls.
 */
export class ScalingHistory {
  #recommendations: Entry[];
  /** Pods added and taken away. */
  #ups: Entry[] = [];
  #downs: Entry[] = [];

  constructor(current: number, now: number) {
    this.#recommendations = [{ at: now, replicas: current }];
  }

  /** The size that a recommendation comes to. Remembers the recommendation. */
  normalize(
    spec: HorizontalPodAutoscalerSpec,
    current: number,
    recommended: number,
    now: number,
  ): Normalized {
    return spec.behavior === undefined
      ? this.#withoutRules(spec, current, recommended, now)
      : this.#withRules(spec, current, recommended, now);
  }

  /** The size has been changed. */
  record({ behavior }: HorizontalPodAutoscalerSpec, from: number, to: number, now: number): void {
    if (behavior === undefined) return;
    const periods = [...(behavior.scaleUp?.policies ?? []), ...(behavior.scaleDown?.policies ?? [])];
    const longest = periods.reduce((most, { periodSeconds }) => Math.max(most, periodSeconds), 0) * 1000;
    const recent = (entries: readonly Entry[]): Entry[] => entries.filter(({ at }) => at >= now - longest);
    this.#ups = recent(this.#ups);
    this.#downs = recent(this.#downs);
    (to > from ? this.#ups : this.#downs).push({ at: now, replicas: Math.abs(to - from) });
  }

  #remember(recommended: number, now: number, window: number): void {
    this.#recommendations = this.#recommendations.filter(({ at }) => at >= now - window);
    this.#recommendations.push({ at: now, replicas: recommended });
  }

  #withoutRules(
    { minReplicas = 1, maxReplicas }: HorizontalPodAutoscalerSpec,
    current: number,
    recommended: number,
    now: number,
  ): Normalized {
    this.#remember(recommended, now, stabilization);
    const stable = Math.max(...this.#recommendations.map(({ replicas }) => replicas));
    const stability = stable === recommended ? ready : wasHigher;
    const rate = Math.max(maxFactor * current, minLimit);
    const most = Math.min(maxReplicas, rate);
    if (stable < minReplicas)
      return { replicas: minReplicas, stability, limited: true, limit: limits.tooFew };
    if (stable <= most) return { replicas: stable, stability, limited: false, limit: limits.within };
    const limit = maxReplicas > rate ? limits.up : limits.tooMany;
    return { replicas: most, stability, limited: true, limit };
  }

  #withRules(
    {
      minReplicas = 1,
      maxReplicas,
      behavior: { scaleUp = {}, scaleDown = {} } = {},
    }: HorizontalPodAutoscalerSpec,
    current: number,
    recommended: number,
    now: number,
  ): Normalized {
    const upWindow = (scaleUp.stabilizationWindowSeconds ?? 0) * 1000;
    const downSeconds = scaleDown.stabilizationWindowSeconds;
    const downWindow = downSeconds === undefined ? stabilization : downSeconds * 1000;
    const within = (window: number): number[] =>
      this.#recommendations.filter(({ at }) => at > now - window).map(({ replicas }) => replicas);
    const lowest = Math.min(recommended, ...within(upWindow));
    const highest = Math.max(recommended, ...within(downWindow));
    const stable = Math.min(Math.max(current, lowest), highest);
    this.#remember(recommended, now, Math.max(upWindow, downWindow));
    const held = recommended >= current ? wasLower : wasHigher;
    const stability = stable === recommended ? ready : held;

    const free = { replicas: stable, stability, limited: false, limit: limits.within };
    if (stable > current) {
      const rate = Math.max(current, this.#limit(scaleUp, current, now, "up"));
      const most = Math.min(maxReplicas, rate);
      const limit = maxReplicas > rate ? limits.up : limits.tooMany;
      return stable > most ? { replicas: most, stability, limited: true, limit } : free;
    }
    if (stable < current) {
      const rate = Math.min(current, this.#limit(scaleDown, current, now, "down"));
      const least = Math.max(minReplicas, rate);
      const limit = minReplicas < rate ? limits.down : limits.tooFew;
      return stable < least ? { replicas: least, stability, limited: true, limit } : free;
    }
    return free;
  }

  /** The size that the policies allow at most, or at least. */
  #limit(rules: HPAScalingRules, current: number, now: number, direction: "up" | "down"): number {
    const { selectPolicy = "Max", policies = [] } = rules;
    if (selectPolicy === "Disabled") return current;
    const proposals = policies.map(({ type, value, periodSeconds }) => {
      const changed = (entries: readonly Entry[]): number =>
        entries
          .filter(({ at }) => at > now - periodSeconds * 1000)
          .reduce((total, { replicas }) => total + replicas, 0);
      const before = current - changed(this.#ups) + changed(this.#downs);
      if (direction === "up") return type === "Pods" ? before + value : Math.ceil(before * (1 + value / 100));
      return type === "Pods" ? before - value : Math.trunc(before * (1 - value / 100));
    });
    // The policy with the greatest change, or with the least.
    const upwards = (direction === "up") === (selectPolicy !== "Min");
    return upwards ? Math.max(...proposals) : Math.min(...proposals);
  }
}
