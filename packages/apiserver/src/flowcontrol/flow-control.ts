import type { ApiResponse, Clock } from "@dray/client";
import { isLongRunning } from "../request/long-running.ts";
import type { Configuration } from "./configuration.ts";
import type { WorkEstimator } from "./estimate.ts";
import type { Flow } from "./flow.ts";
import {
  kindOfRequest,
  type LimitedRequest,
  type Limiter,
  type RequestKind,
  tooManyRequests,
  type WatchProgress,
} from "./limiter.ts";
import { metricLines } from "./metrics.ts";
import { FlowRequest, oneSeat } from "./request.ts";
import { RetryAfter } from "./retry-after.ts";

/** Milliseconds between two adjustments of borrowed seats (borrowingAdjustmentPeriod). */
const adjustmentInterval = 10_000;
/** Maximum fraction of its timeout that a request may wait, and the maximum wait in milliseconds. */
const waitFraction = 0.25;
const maxWait = 60_000;

/**
 * API Priority and Fairness: requests are classified into priority levels, each of which has seats and queues
 * of its own.
 *
 * Upstream: KEP-1040; apiserver/pkg/server/filters/priority-and-fairness.go
 */
export class FlowControl implements Limiter {
  readonly #configuration: Configuration;
  readonly #estimator: WorkEstimator;
  readonly #clock: Clock;
  readonly #executing: Record<RequestKind, number> = { readOnly: 0, mutating: 0 };
  /** By priority level. */
  readonly #retryAfter = new Map<string, RetryAfter>();
  #cancelAdjustment = (): void => {};

  constructor(configuration: Configuration, estimator: WorkEstimator, clock: Clock) {
    this.#configuration = configuration;
    this.#estimator = estimator;
    this.#clock = clock;
    this.#adjustLater();
  }

  async run(
    arrival: LimitedRequest,
    work: (watch?: WatchProgress) => Promise<ApiResponse>,
  ): Promise<ApiResponse> {
    const { info } = arrival;
    const isWatch = info.verb === "watch";
    if (!isWatch && isLongRunning(info)) return work();
    const request = this.#arrive(arrival);
    if (request.state === "waiting") await this.#decision(request, arrival);
    if (request.flow.level.isExempt === false) this.#noteWait(request);
    if (request.state === "rejected") return this.#rejection(request);
    this.#executing[kindOfRequest(info)]++;
    if (isWatch) return this.#watch(request, arrival, work);
    try {
      return await work();
    } finally {
      this.#finish(request);
    }
  }

  count(kind: RequestKind): number {
    return this.#executing[kind];
  }

  metrics(): readonly string[] {
    return metricLines(this.#configuration);
  }

  close(): void {
    this.#cancelAdjustment();
  }

  #arrive({ info, user, notes }: LimitedRequest): FlowRequest<Flow> {
    const flow = this.#configuration.classifier.classify(info, user);
    const { level } = flow;
    notes.flow = flow;
    // Exempt requests never wait for the seats of others.
    const work = level.isExempt ? oneSeat : this.#estimator.estimate(info, level);
    const request = new FlowRequest({ flow, info, user, work, now: this.#clock.now() });
    level.requests.start(request);
    return request;
  }

  /**
   * Resolves when the request is executed or rejected: after its maximum wait, or because the client has
   * disconnected.
   */
  async #decision(request: FlowRequest<Flow>, { request: { signal }, limit }: LimitedRequest): Promise<void> {
    const give = (): void => request.flow.level.requests.timeOut(request);
    const cancel = this.#clock.after(Math.min(limit * waitFraction, maxWait), give);
    signal.addEventListener("abort", give, { once: true });
    if (signal.aborted) give();
    await request.decided;
    cancel();
    signal.removeEventListener("abort", give);
  }

  #noteWait(request: FlowRequest<Flow>): void {
    const { counts } = request.flow;
    if (request.state === "rejected") counts.rejectedWait.observe(this.#clock.now() - request.arrived);
    else counts.executedWait.observe(request.started - request.arrived);
  }

  #rejection({ flow }: FlowRequest<Flow>): ApiResponse {
    const { level } = flow;
    const retryAfter = this.#retryAfter.get(level.name) ?? new RetryAfter();
    this.#retryAfter.set(level.name, retryAfter);
    retryAfter.note(this.#clock.now());
    this.#configuration.reap(level);
    return tooManyRequests(retryAfter.seconds);
  }

  #finish(request: FlowRequest<Flow>): void {
    const { flow, info, started } = request;
    const { level, counts } = flow;
    this.#executing[kindOfRequest(info)]--;
    const execution = info.verb === "watch" ? counts.watchExecution : counts.execution;
    execution.observe(this.#clock.now() - started);
    level.requests.finish(request);
    this.#configuration.reap(level);
  }

  /** A watch holds a seat until it has sent the initial events. Writes count it until its end. */
  async #watch(
    request: FlowRequest<Flow>,
    { request: { signal }, info }: LimitedRequest,
    work: (watch: WatchProgress) => Promise<ApiResponse>,
  ): Promise<ApiResponse> {
    const forget = this.#estimator.watchers.add(info);
    let [hasSeat, isOpen] = [true, true];
    const initialized = (): void => {
      if (hasSeat) this.#finish(request);
      hasSeat = false;
    };
    const ended = (): void => {
      initialized();
      if (!isOpen) return;
      isOpen = false;
      forget();
      signal.removeEventListener("abort", ended);
    };
    // The client may have disconnected before reading.
    signal.addEventListener("abort", ended, { once: true });
    try {
      const response = await work({ initialized, ended });
      if (response.type === "body" || signal.aborted) ended();
      return response;
    } catch (error) {
      ended();
      throw error;
    }
  }

  #adjustLater(): void {
    this.#cancelAdjustment = this.#clock.after(adjustmentInterval, () => {
      this.#configuration.adjust();
      this.#adjustLater();
    });
  }
}
