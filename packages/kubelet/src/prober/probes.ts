import type { Probe } from "@dray/api/core/v1";
import type { Clock, Log } from "@dray/client";
import { type ProbeOutcome, type ProbeTarget, runProbe } from "../lifecycle/handlers.ts";
import type { RuntimeService } from "../runtime/service.ts";
import { ProbeMetrics } from "./probe-metrics.ts";

/**
 * Maximum number of attempts of a probe without a result. Upstream: pkg/kubelet/prober/prober.go,
 * maxProbeRetries.
 */
const maxTries = 3;

type ProbeType = "readiness" | "liveness" | "startup";

/** A probe whose failure ends its container. */
export interface FailedProbe {
  readonly type: ProbeType;
  readonly message: string;
  /** Grace period of the container in seconds; that of its pod if absent. */
  readonly graceSeconds: number | undefined;
}

/** Results of the probes of one container. */
interface ProbeStatus {
  /** True at once without a startup probe. */
  started: boolean;
  ready: boolean;
  /** The liveness or startup probe that has failed for good. */
  failed: FailedProbe | undefined;
  readonly stop: AbortController;
}

export interface ProbesOptions {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly log: Log;
  /** Records an event of a pod: `Unhealthy` or `ProbeWarning`. */
  event(podUid: string, reason: string, message: string): void;
  /** Called when a result of `started`, `ready` or `failed` has changed. */
  changed(podUid: string): void;
}

/** Runs the probes of containers from their start to their end. */
export class Probes {
  readonly #options: ProbesOptions;
  readonly #statuses = new Map<string, ProbeStatus>();
  readonly metrics = new ProbeMetrics();

  constructor(options: ProbesOptions) {
    this.#options = options;
  }

  /**
   * Starts the probes of a running container; no-op if they run. `before` is the result of an earlier agent.
   */
  watch(target: ProbeTarget, before?: { readonly started?: boolean; readonly ready?: boolean }): void {
    if (this.#statuses.has(target.containerId)) return;
    const { startupProbe, readinessProbe } = target.spec;
    const status: ProbeStatus = {
      started: startupProbe === undefined || before?.started === true,
      ready: readinessProbe === undefined || before?.ready === true,
      failed: undefined,
      stop: new AbortController(),
    };
    this.#statuses.set(target.containerId, status);
    const rest = (): void => {
      this.#loop("readiness", target, status);
      this.#loop("liveness", target, status);
    };
    if (startupProbe === undefined || status.started) rest();
    else this.#loop("startup", target, status, rest);
  }

  forget(containerId: string): void {
    this.#statuses.get(containerId)?.stop.abort();
    this.#statuses.delete(containerId);
  }

  /** Ends all probes. */
  close(): void {
    for (const id of [...this.#statuses.keys()]) this.forget(id);
  }

  started(containerId: string): boolean {
    return this.#statuses.get(containerId)?.started ?? false;
  }

  ready(containerId: string): boolean {
    const status = this.#statuses.get(containerId);
    return (status?.started && status.ready) ?? false;
  }

  failed(containerId: string): FailedProbe | undefined {
    return this.#statuses.get(containerId)?.failed;
  }

  /** No-op without a probe of the type. */
  #loop(type: ProbeType, target: ProbeTarget, status: ProbeStatus, succeeded: () => void = () => {}): void {
    const { clock } = this.#options;
    const { signal } = status.stop;
    const probe = target.spec[`${type}Probe`];
    if (probe === undefined) return;
    const name = `${type[0]?.toUpperCase()}${type.slice(1)}`;
    const period = (probe.periodSeconds ?? 10) * 1000;
    let successes = 0;
    let failures = 0;
    const schedule = (milliseconds: number): void => {
      const cancel = clock.after(milliseconds, () => {
        signal.removeEventListener("abort", cancel);
        void once();
      });
      signal.addEventListener("abort", cancel, { once: true });
    };
    const once = async (): Promise<void> => {
      const outcome = await this.#probe(name, probe, target, signal);
      if (signal.aborted) return;
      // Without a result, the one before stands.
      if (outcome === undefined) return schedule(period);
      const failed = outcome.result === "failure";
      successes = failed ? 0 : successes + 1;
      failures = failed ? failures + 1 : 0;
      if (failed) this.#options.event(target.podUid, "Unhealthy", `${name} probe failed: ${outcome.output}`);
      else if (outcome.result === "warning")
        this.#options.event(target.podUid, "ProbeWarning", `${name} probe warning: ${outcome.output}`);
      const good = successes >= (probe.successThreshold ?? 1);
      const bad = failures >= (probe.failureThreshold ?? 3);
      if (type === "startup" && good) {
        status.started = true;
        this.#options.changed(target.podUid);
        succeeded();
        return;
      }
      if (type === "readiness" && (good || bad) && status.ready !== good) {
        status.ready = good;
        this.#options.changed(target.podUid);
      }
      if (type !== "readiness" && bad) {
        const grace = probe.terminationGracePeriodSeconds;
        const graceSeconds = grace === undefined ? undefined : Number(grace);
        status.failed = { type, message: outcome.output, graceSeconds };
        this.#options.changed(target.podUid);
        return;
      }
      schedule(period);
    };
    schedule((probe.initialDelaySeconds ?? 0) * 1000);
  }

  /** Returns undefined without a result, which an event reports. */
  async #probe(
    name: string,
    probe: Probe,
    target: ProbeTarget,
    signal: AbortSignal,
  ): Promise<ProbeOutcome | undefined> {
    const timeout = (probe.timeoutSeconds ?? 1) * 1000;
    const { clock } = this.#options;
    const begin = clock.now();
    const note = (result: "successful" | "failed" | "unknown"): void => {
      const { podUid, spec } = target;
      this.metrics.note({ podUid, container: spec.name, type: name }, result, (clock.now() - begin) / 1000);
    };
    let message = "";
    for (let attempt = 0; attempt < maxTries && !signal.aborted; attempt++)
      try {
        const outcome = await runProbe(probe, target, timeout, this.#options);
        if (!signal.aborted) note(outcome.result === "failure" ? "failed" : "successful");
        return outcome;
      } catch (error) {
        ({ message } = error as Error);
      }
    if (signal.aborted) return undefined;
    note("unknown");
    const text = `${name} probe errored and resulted in unknown state: ${message}`;
    this.#options.event(target.podUid, "Unhealthy", text);
    return undefined;
  }
}
