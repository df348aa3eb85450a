import type { Clock, Log } from "@dray/client";
import type { RuntimeService } from "../runtime/service.ts";

export interface RuntimeProblemsOptions {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly log: Log;
  changed(): void;
}

/** Interval of checks of the runtime in milliseconds. Upstream: updateRuntimeUp. */
const checkInterval = 5000;
/**
 * Milliseconds without a response after which the runtime counts as down. Upstream:
 * maxWaitForContainerRuntime.
 */
const downTimeout = 30_000;

/** Follows what keeps the runtime from running pods; the node is not ready meanwhile. */
export class RuntimeProblems {
  readonly #options: RuntimeProblemsOptions;
  #text: string | undefined;
  #cancel: (() => void) | undefined;
  #stopped = false;
  #answeredAt: number;

  constructor(options: RuntimeProblemsOptions) {
    this.#options = options;
    this.#answeredAt = options.clock.now();
  }

  /** All problems; undefined without any. */
  get text(): string | undefined {
    return this.#text;
  }

  /** Resolves after the first check. */
  async start(): Promise<void> {
    if (this.#options.runtime.problems !== undefined) await this.#check();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  async #check(): Promise<void> {
    const { clock, log, changed } = this.#options;
    const found = await this.#ask();
    if (this.#stopped) return;
    const text = found.length > 1 ? `[${found.join(", ")}]` : found[0];
    if (text !== this.#text) {
      this.#text = text;
      if (text === undefined) log.info({}, "the runtime is ready again");
      else log.warn({ problem: text }, "the runtime is not ready");
      changed();
    }
    this.#cancel = clock.after(checkInterval, () => void this.#check());
  }

  async #ask(): Promise<readonly string[]> {
    const { runtime, clock, log } = this.#options;
    try {
      const found = (await runtime.problems?.()) ?? [];
      this.#answeredAt = clock.now();
      return found;
    } catch (error) {
      log.debug({ err: error }, "cannot read the status of the runtime");
      // Pods are not evicted for a short restart of the runtime.
      if (clock.now() - this.#answeredAt >= downTimeout) return ["container runtime is down"];
      return this.#text === undefined ? [] : [this.#text];
    }
  }
}
