import { type Counter, MetricsRegistry } from "./registry.ts";

/** The paths of health checks, without the slash. */
export type HealthType = "healthz" | "livez" | "readyz";

interface Result {
  readonly name: string;
  readonly type: HealthType;
  passes: boolean;
}

/**
 * Results of health checks, for `/metrics/slis`.
 *
 * Upstream: KEP-3466; component-base, metrics/prometheus/slis/metrics.go.
 */
export class HealthMetrics {
  readonly #registry = new MetricsRegistry();
  readonly #last = new Map<string, Result>();
  readonly #total: Counter;

  constructor() {
    this.#registry.gauge(
      "kubernetes_healthcheck",
      "[STABLE] This metric records the result of a single healthcheck.",
      ["name", "type"],
      () => [...this.#last.values()].map(({ name, type, passes }) => [[name, type], passes ? 1 : 0] as const),
    );
    this.#total = this.#registry.counter(
      "kubernetes_healthchecks_total",
      "[STABLE] This metric records the results of all healthcheck.",
      ["name", "type", "status"],
    );
  }

  /** Counts a check that was made. */
  observe(name: string, type: HealthType, passes: boolean): void {
    this.#last.set(`${type}\0${name}`, { name, type, passes });
    this.#total.add([name, type, passes ? "success" : "error"]);
  }

  /** Returns the metrics in the text format of Prometheus. */
  text(): string {
    return this.#registry.text();
  }
}
