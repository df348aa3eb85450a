import type { Pod } from "@dray/api/core/v1";
import type { Clock, Log } from "@dray/client";
import type { SchedulerCache } from "../cache/cache.ts";
import type { BindingCycle } from "../cycle/binding-cycle.ts";
import { decideWithExtenders } from "../cycle/decide-with-extenders.ts";
import type { FailureHandler } from "../cycle/failure-handler.ts";
import type { Profile } from "../cycle/profile.ts";
import { type Decision, refused, type Search } from "../cycle/scheduling-cycle.ts";
import type { Extenders } from "../extenders/extenders.ts";
import { BudgetExceeded, type EvaluationBudget } from "../framework/evaluation-budget.ts";
import type { SchedulerMetrics } from "../metrics/scheduler-metrics.ts";
import type { GroupCycle, PoppedGroup } from "../podgroup-cycle/cycle.ts";
import type { SchedulingQueue } from "../queue/queue.ts";
import type { QueuedPod } from "../queue/queued-pod.ts";
import type { EquivalentPods } from "../shared/equivalent-pods.ts";

/** Milliseconds that one attempt may take to evaluate selectors; the next attempt reuses the results. */
const maxAttempt = 10_000;

export interface SchedulingLoopOptions {
  readonly queue: SchedulingQueue;
  readonly cache: SchedulerCache;
  readonly bindings: BindingCycle;
  readonly failures: FailureHandler;
  /** Absent where nodes are asked anew for each pod. */
  readonly equivalentPods: EquivalentPods | undefined;
  readonly profileOf: (pod: Pod) => Profile;
  /** Absent: every pod is scheduled on its own. */
  readonly groups?: GroupCycle;
  readonly budget: EvaluationBudget;
  readonly metrics: SchedulerMetrics;
  readonly extenders: Extenders;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Takes one pod after the other from the queue. Bindings and failures go on behind its back. */
export class SchedulingLoop {
  readonly #options: SchedulingLoopOptions;
  readonly #background = new Set<Promise<void>>();
  #started = false;
  #scheduled = false;
  /** Extenders are asked about a pod. */
  #paused = false;
  /** The attempt that is not over yet, and when it began. */
  #unfinished:
    | { readonly entry: QueuedPod; readonly since: number; readonly group?: PoppedGroup }
    | undefined;

  constructor(options: SchedulingLoopOptions) {
    this.#options = options;
  }

  start(): void {
    this.#started = true;
    this.wake();
  }

  /** There may be a pod to try. */
  wake(): void {
    const { signal } = this.#options;
    if (this.#scheduled || this.#paused || !this.#started || signal.aborted) return;
    this.#scheduled = true;
    // One pod a turn: events and requests come between them.
    setImmediate(() => {
      this.#scheduled = false;
      if (!signal.aborted) this.#next();
    });
  }

  /** Resolves when the bindings begun are done. */
  async settled(): Promise<void> {
    await Promise.all(this.#background);
  }

  #next(): void {
    const { queue } = this.#options;
    // Some pods of a group may be gone: the others are in flight, and nothing else would try them again.
    const begun = this.#unfinished?.group?.entries ?? (this.#unfinished ? [this.#unfinished.entry] : []);
    const left = begun.find((each) => queue.has(each));
    if (left === undefined) this.#unfinished = undefined;
    const entry = left ?? queue.pop();
    if (entry === undefined) return;
    this.#schedule(entry);
    this.wake();
  }

  #schedule(entry: QueuedPod): void {
    const { clock, failures, metrics } = this.#options;
    const since = this.#unfinished?.since ?? clock.now();
    const resumed = this.#unfinished;
    this.#unfinished = undefined;
    let group = resumed?.group;
    let entries: readonly QueuedPod[] = [entry];
    const profile = this.#options.profileOf(entry.pod);
    try {
      const taken = group ?? this.#options.groups?.take(entry);
      if (taken === "waiting") return;
      group = taken;
      if (group !== undefined) entries = group.entries.filter((each) => this.#options.queue.has(each));
      if (entries.length === 0) return;
      if (resumed === undefined) for (const each of entries) each.attemptSince = metrics.now();
      this.#attempt(profile, entries, group);
    } catch (error) {
      if (error instanceof BudgetExceeded && clock.now() - since < maxAttempt) {
        this.#unfinished = { entry: entries[0]!, since, ...(group && { group: { ...group, entries } }) };
        return;
      }
      const tooLong = `evaluating the selectors of its claims takes longer than ${maxAttempt / 1000}s; the next attempt goes on`;
      const message = error instanceof BudgetExceeded ? tooLong : (error as Error).message;
      for (const each of entries) this.track(failures.fail(profile, each, { message }));
    }
  }

  #attempt(profile: Profile, entries: readonly QueuedPod[], group: PoppedGroup | undefined): void {
    const { groups, metrics, budget } = this.#options;
    const begun = metrics.now();
    budget.begin();
    if (groups === undefined || group === undefined) {
      this.#scheduleOne(profile, entries[0]!, begun);
      return;
    }
    this.track(groups.schedule(profile, group.root, entries));
    metrics.decided(begun);
  }

  #scheduleOne(profile: Profile, entry: QueuedPod, begun: number): void {
    const { equivalentPods, cache, extenders, metrics } = this.#options;
    let decision: Decision;
    if (extenders.isInterestedIn(entry.pod)) {
      const search = profile.cycle.search(entry.pod, cache.nodes);
      if (search.feasible.length > 0) {
        this.#askExtenders(profile, entry, search, begun);
        return;
      }
      decision = refused(search, cache.nodes);
    } else decision = profile.cycle.decide(entry.pod, cache.nodes, equivalentPods?.resultsFor(entry.pod));
    metrics.decided(begun);
    this.track(this.#carryOut(profile, entry, decision));
  }

  /** No other pod is tried until the extenders have answered, so that their input stays valid. */
  #askExtenders(profile: Profile, entry: QueuedPod, search: Search, begun: number): void {
    const { failures, metrics } = this.#options;
    this.#paused = true;
    const decide = async (): Promise<void> => {
      let decision: Decision;
      try {
        decision = await decideWithExtenders(this.#options, profile.cycle, entry.pod, search);
        metrics.decided(begun);
      } catch (error) {
        return failures.fail(profile, entry, error as Error);
      } finally {
        this.#paused = false;
        this.wake();
      }
      // Begins at once: nothing has changed since the decision.
      return this.#carryOut(profile, entry, decision);
    };
    this.track(decide());
  }

  async #carryOut(profile: Profile, entry: QueuedPod, decision: Decision): Promise<void> {
    const { queue, bindings, failures } = this.#options;
    if (!queue.has(entry)) return;
    if (decision.type === "refused") return failures.refuse(profile, entry, decision);
    return this.#place(profile, entry, decision, bindings);
  }

  async #place(
    profile: Profile,
    entry: QueuedPod,
    decision: Decision & { type: "placed" },
    bindings: BindingCycle,
  ): Promise<void> {
    const { equivalentPods, failures } = this.#options;
    const { node, state } = decision;
    let reserved: ReturnType<BindingCycle["reserve"]>;
    try {
      reserved = bindings.reserve(profile, entry, decision);
      equivalentPods?.devicesTaken();
    } catch (error) {
      await bindings.giveBack(profile, entry.pod, node, state);
      return failures.fail(profile, entry, error as Error);
    }
    if (reserved instanceof Map) return bindings.bind(profile, entry, decision, reserved);
    await bindings.giveBack(profile, entry.pod, node, state);
    return failures.reject(profile, entry, node.name, reserved);
  }

  /** Lets the work go on in the background; `settled` waits for it. */
  track(work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => this.#options.log.error({ err: error }, "a pod could not be handled"))
      .finally(() => this.#background.delete(done));
    this.#background.add(done);
  }
}
