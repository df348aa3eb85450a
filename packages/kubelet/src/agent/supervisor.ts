import { AsyncLocalStorage } from "node:async_hooks";
import { type Clock, type Log, sleep, withFields } from "@dray/client";
import { shortened } from "../base/text.ts";
import { FailedNode } from "./failed-node.ts";
import { startKubelet } from "./kubelet.ts";
import type { Kubelet, KubeletOptions } from "./options.ts";

/** State of the agent of one node. */
export interface NodeState {
  readonly node: string;
  /** `failed`: the agent waits to be restarted. */
  readonly state: "starting" | "running" | "failed" | "stopped";
  /** Lacks of isolation of the runtime on this machine, as text; absent before the agent has run. */
  readonly limits?: readonly string[];
  /** When this state began, in RFC 3339. */
  readonly since: string;
  /** Reason of the last failure; absent once the agent has run for a while. */
  readonly reason?: string;
  /** Number of restarts. */
  readonly restarts: number;
  /** When a failed agent is restarted, in RFC 3339. */
  readonly nextStart?: string;
}

export interface SupervisorOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Called with each new state. */
  changed(state: NodeState): void;
}

export interface SupervisedNode {
  readonly state: NodeState;
  /** Resolves when the agent runs or has failed for the first time. */
  readonly settled: Promise<void>;
  /** As `Kubelet.shutDown`, if the agent runs. */
  shutDown(): Promise<void>;
  /** As `Kubelet.stop`, in every state. */
  stop(options: { readonly leavePods: boolean }): Promise<void>;
}

/**
 * Delay before a failed agent is restarted, in milliseconds: doubled with each consecutive failure, up to the
 * maximum.
 */
const delays = { first: 1000, max: 60_000 };
/** Milliseconds after which a running agent counts as healthy, and its failures are forgotten. */
const healthyAfter = 120_000;
/** Maximum length of a reason, in characters. */
const maxReason = 1024;

/** The supervisor of the node whose code runs. */
const current = new AsyncLocalStorage<Supervisor>();

/**
 * Keeps the agent of a node running, isolated from the others of the process: if it cannot start, or its code
 * throws an error that nothing handles, it alone is restarted, with back-off. Meanwhile its Node says why it
 * is not ready, if the API server can be reached.
 *
 * `options` is called before each start, and may fail as the agent may; its clients are closed when the agent
 * has ended.
 */
export function superviseNode(
  node: string,
  options: () => Promise<KubeletOptions>,
  surroundings: SupervisorOptions,
): SupervisedNode {
  return new Supervisor(node, options, surroundings);
}

/**
 * Handles an uncaught error: restarts the node whose code threw it. Returns false if no node did. For the
 * events `uncaughtException` and `unhandledRejection` of the process.
 */
export function failNodeOf(error: unknown): boolean {
  const supervisor = current.getStore();
  supervisor?.fail(error);
  return supervisor !== undefined;
}

class Supervisor implements SupervisedNode {
  readonly settled: Promise<void>;
  readonly #makeOptions: () => Promise<KubeletOptions>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #changed: (state: NodeState) => void;
  readonly #settled = Promise.withResolvers<void>();
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #leavePods = true;
  #kubelet: Kubelet | undefined;
  #state: NodeState;
  #attempt = new AbortController();
  /** Closes the client of a start that may be waiting for a response. */
  #giveUp: (() => void) | undefined;

  constructor(node: string, options: () => Promise<KubeletOptions>, surroundings: SupervisorOptions) {
    this.#makeOptions = options;
    this.#clock = surroundings.clock;
    this.#log = withFields(surroundings.log, { node });
    this.#changed = surroundings.changed;
    this.settled = this.#settled.promise;
    this.#state = { node, state: "starting", since: this.#time(), restarts: 0 };
    this.#ended = current.run(this, () => this.#run());
  }

  get state(): NodeState {
    return this.#state;
  }

  /** Handles an uncaught error of the agent's code. */
  fail(error: unknown): void {
    const { signal } = this.#attempt;
    // An agent that is ending may go on to fail.
    const level = signal.aborted ? "debug" : "error";
    this.#log[level](
      { err: error },
      "an error in the agent's code was not handled: the agent is started again",
    );
    this.#abort(error);
  }

  async shutDown(): Promise<void> {
    await this.#kubelet?.shutDown();
  }

  async stop({ leavePods }: { readonly leavePods: boolean }): Promise<void> {
    this.#leavePods = leavePods;
    this.#stop.abort();
    this.#abort(new Error("the agent is stopped"));
    await this.#ended;
  }

  #abort(reason: unknown): void {
    if (this.#attempt.signal.aborted) return;
    this.#attempt.abort(reason);
    this.#giveUp?.();
  }

  async #run(): Promise<void> {
    let failures = 0;
    for (let restarts = 0; !this.#stop.signal.aborted; restarts++) {
      this.#set({ state: "starting", restarts });
      const started = this.#clock.now();
      const { problem, options } = await this.#attemptOnce();
      if (this.#stop.signal.aborted) {
        closeClients(options);
        break;
      }
      failures = this.#clock.now() - started >= healthyAfter ? 1 : failures + 1;
      const delay = Math.min(delays.first * 2 ** (failures - 1), delays.max);
      const reason = shortened(textOf(problem), maxReason);
      this.#log.error({ err: problem, delay, failures }, "the node agent failed and is started again later");
      const nextStart = this.#time(delay);
      this.#set({ state: "failed", restarts, reason, nextStart });
      this.#settled.resolve();
      const report =
        options === undefined ? undefined : new FailedNode(options, this.#clock, this.#log, reason);
      await sleep(this.#clock, delay, this.#stop.signal);
      await report?.stop();
      closeClients(options);
    }
    this.#set({ state: "stopped" });
    this.#settled.resolve();
  }

  /** Runs the agent once; never rejects. */
  async #attemptOnce(): Promise<{ problem: unknown; options: KubeletOptions | undefined }> {
    this.#attempt = new AbortController();
    const { signal } = this.#attempt;
    if (this.#stop.signal.aborted) this.#attempt.abort();
    let options: KubeletOptions | undefined;
    let kubelet: Kubelet;
    try {
      options = await this.#makeOptions();
      const { client } = options;
      this.#giveUp = () => client.close();
      kubelet = await startKubelet({ ...options, signal });
    } catch (error) {
      return { problem: signal.aborted ? signal.reason : error, options };
    } finally {
      this.#giveUp = undefined;
    }
    this.#kubelet = kubelet;
    this.#set({ state: "running", limits: kubelet.limits });
    this.#settled.resolve();
    const healthy = this.#clock.after(healthyAfter, () => {
      if (!signal.aborted) this.#forgive();
    });
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    healthy();
    this.#kubelet = undefined;
    try {
      await kubelet.stop({ leavePods: this.#leavePods });
    } catch (error) {
      this.#log.error({ err: error }, "the node agent did not end as it should");
    }
    return { problem: signal.reason, options };
  }

  #forgive(): void {
    const { reason: _, ...state } = this.#state;
    this.#state = state;
    this.#changed(state);
  }

  #set(change: Partial<NodeState> & Pick<NodeState, "state">): void {
    const { nextStart: _, ...before } = this.#state;
    this.#state = { ...before, ...change, since: this.#time() };
    this.#changed(this.#state);
  }

  #time(after = 0): string {
    return new Date(this.#clock.now() + after).toISOString();
  }
}

function textOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}

function closeClients(options: KubeletOptions | undefined): void {
  options?.client.close();
  options?.servicesClient?.close();
}
