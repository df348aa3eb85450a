import { HealthMetrics } from "@dray/client";

/**
 * Upstream's names of the checks of `/healthz`. That the agent responds is what each of them says: it has one
 * loop for everything.
 *
 * Upstream: pkg/kubelet/server/server.go, InstallAuthNotRequiredHandlers.
 */
const checks = ["ping", "log", "syncloop"] as const;

/** Health of the agent, and how often it was asked for. */
export class AgentHealth {
  readonly #metrics = new HealthMetrics();

  /** The text of `/healthz`. */
  check(): string {
    for (const name of checks) this.#metrics.observe(name, "healthz", true);
    return "ok";
  }

  /** Response of `/metrics/slis`: the checks are made for it. */
  slis(): string {
    this.check();
    return this.#metrics.text();
  }
}
