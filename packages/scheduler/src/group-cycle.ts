import type { Pod } from "@dray/api/core/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import type { AlikePods } from "./alike.ts";
import type { BindingCycle } from "./binding.ts";
import type { SchedulerCache } from "./cache.ts";
import { type Decision, priorityOf } from "./cycle.ts";
import type { FailureHandler } from "./failure.ts";
import { type CycleState, type Rejection, stateInGroup } from "./framework.ts";
import type { GroupOutcome, GroupStatusWriter } from "./group-status.ts";
import { diagnosisText } from "./message.ts";
import type { PodGroups } from "./pod-groups.ts";
import type { Profile } from "./profile.ts";
import type { QueuedPod, SchedulingQueue } from "./queue.ts";
import { TurnIsOver } from "./turn.ts";

export interface GroupCycleOptions {
  readonly groups: PodGroups;
  readonly queue: SchedulingQueue;
  readonly cache: SchedulerCache;
  readonly bindings: BindingCycle;
  /** Absent where nodes are asked anew for each pod. */
  readonly alike: AlikePods | undefined;
  readonly failures: FailureHandler;
  readonly status: GroupStatusWriter;
}

export interface TakenGroup {
  readonly group: PodGroup;
  readonly entries: readonly QueuedPod[];
}

type Placed = Decision & { type: "placed" };

/** What became of one pod in the group's cycle. */
type MemberResult =
  | { readonly type: "placed"; readonly decision: Placed; readonly waits: ReadonlyMap<string, number> }
  | { readonly type: "refused"; readonly message: string; readonly plugins: readonly string[] };

interface Attempt {
  readonly group: PodGroup;
  readonly profile: Profile;
  readonly entries: readonly QueuedPod[];
  /** What plugins share between the pods. */
  readonly state: CycleState;
  /** Of the first pods; those after them were not looked at. */
  readonly results: MemberResult[];
  /** What is being given back. */
  readonly returns: Promise<void>[];
}

/**
 * Schedules the waiting pods of a group together, against the same nodes: where fewer than its minimum can be placed,
 * none is.
 * Upstream: pkg/scheduler/schedule_one_podgroup.go; without composite groups, placements and preemption for groups.
 */
export class GroupCycle {
  readonly #options: GroupCycleOptions;

  constructor(options: GroupCycleOptions) {
    this.#options = options;
  }

  /**
   * The group of the pod, and its pods that wait, the given one first; none: they wait for one that is turned away.
   * Undefined: the pod is on its own.
   */
  take(entry: QueuedPod): TakenGroup | undefined {
    const { groups, queue } = this.#options;
    const group = groups.of(entry.pod);
    if (group === undefined) return undefined;
    const { namespace, name } = group.metadata;
    const members = groups.members(namespace, name).map(({ metadata }) => metadata.uid);
    const others = queue.takeWith(entry, members);
    return { group, entries: others === undefined ? [] : [entry, ...others] };
  }

  /**
   * Places what can be placed, at once; resolves when the pods are bound or told why not. Throws TurnIsOver when the turn
   * is over, and everything is as it was.
   */
  schedule(profile: Profile, group: PodGroup, entries: readonly QueuedPod[]): Promise<void> {
    const attempt: Attempt = { group, profile, entries, state: new Map(), results: [], returns: [] };
    const problem = this.#problem(attempt);
    if (problem !== undefined) return this.#fail(attempt, problem);
    let feasibility: Feasibility;
    try {
      feasibility = this.#place(attempt);
      this.#options.alike?.devicesTaken();
    } catch (error) {
      this.#giveBack(attempt);
      if (error instanceof TurnIsOver) throw error;
      const failed = entries[attempt.results.length];
      return this.#fail(attempt, (error as Error).message, failed);
    }
    return feasibility.type === "met" ? this.#bind(attempt) : this.#refuse(attempt, feasibility.message);
  }

  /** Upstream: validatePodGroup. */
  #problem({ group, entries }: Attempt): string | undefined {
    const all = [...entries.map(({ pod }) => pod), ...this.#options.groups.placed(group)];
    const first = all[0]!;
    const priority = group.spec.priority ?? 0;
    for (const pod of all) {
      const [own, wanted] = [pod.spec.schedulerName, first.spec.schedulerName].map((text) =>
        JSON.stringify(text),
      );
      if (own !== wanted)
        return `all pods in a single pod group should have the same .spec.schedulerName set, got: ${own} and ${wanted}`;
      if (priorityOf(pod) !== priority)
        return `all pods in a single pod group should have the same priority as the pod group's priority, got ${priorityOf(pod)} and ${priority}`;
    }
    return undefined;
  }

  #place(attempt: Attempt): Feasibility {
    const { group, entries, results } = attempt;
    const minCount = this.#options.groups.minCount(group);
    let scheduled = this.#options.groups.placed(group).length;
    let remaining = entries.length;
    let feasibility = feasible(minCount, scheduled, remaining);
    for (const entry of entries) {
      if (feasibility.type === "impossible") break;
      const result = this.#placeOne(attempt, entry);
      results.push(result);
      remaining--;
      if (result.type === "placed") scheduled++;
      feasibility = feasible(minCount, scheduled, remaining);
    }
    const isAnyPlaced = results.some(({ type }) => type === "placed");
    if (feasibility.type === "met" && !isAnyPlaced)
      return { type: "impossible", message: "pod group is unschedulable" };
    return feasibility;
  }

  #placeOne({ profile, state, returns }: Attempt, entry: QueuedPod): MemberResult {
    const { cache, bindings } = this.#options;
    const { pod } = entry;
    const decision = profile.cycle.decide(pod, cache.nodes, undefined, stateInGroup(state));
    if (decision.type === "refused") {
      const { diagnosis, plugins } = decision;
      return { type: "refused", message: diagnosisText(diagnosis, []), plugins };
    }
    let reserved: Rejection | ReadonlyMap<string, number>;
    try {
      reserved = bindings.reserve(profile, entry, decision);
    } catch (error) {
      returns.push(bindings.takeBack(profile, pod, decision.node, decision.state));
      throw error;
    }
    if (reserved instanceof Map) return { type: "placed", decision, waits: reserved };
    returns.push(bindings.takeBack(profile, pod, decision.node, decision.state));
    const rejection = reserved as Rejection;
    const rejections = new Map([[decision.node.name, rejection]]);
    return {
      type: "refused",
      message: diagnosisText({ nodes: 1, rejections }, []),
      plugins: [rejection.plugin],
    };
  }

  /** In reverse order: what came later may count on what came before. */
  #giveBack({ profile, entries, results, returns }: Attempt): void {
    for (const [i, result] of [...results.entries()].reverse()) {
      if (result.type !== "placed") continue;
      const { node, state } = result.decision;
      returns.push(this.#options.bindings.takeBack(profile, entries[i]!.pod, node, state));
    }
  }

  async #bind({ group, profile, entries, results }: Attempt): Promise<void> {
    const { bindings, failures } = this.#options;
    await Promise.all([
      this.#tell(group, { status: "True", reason: "Scheduled", message: "" }),
      ...entries.map((entry, i) => {
        const result = results[i]!;
        return result.type === "placed"
          ? bindings.bind(profile, entry, result.decision, result.waits)
          : failures.refuseInGroup(profile, entry, result.plugins, result.message);
      }),
    ]);
  }

  async #refuse(attempt: Attempt, reason: string): Promise<void> {
    const { group, profile, entries, results, state } = attempt;
    const { failures } = this.#options;
    this.#giveBack(attempt);
    // What helps one of them helps the group.
    const found = results.flatMap((result) => (result.type === "refused" ? result.plugins : []));
    const plugins = found.length > 0 ? [...new Set(found)] : ["GangScheduling"];
    const pods = entries.map(({ pod }) => pod);
    let message: string;
    try {
      await Promise.all(attempt.returns);
      message = [reason, ...(await this.#postFilter(profile, state, group, pods))].join(", ");
    } catch (error) {
      return this.#fail(attempt, (error as Error).message);
    }
    await Promise.all([
      this.#tell(group, { status: "False", reason: "Unschedulable", message }),
      ...entries.map((entry, i) => {
        const result = results[i];
        const own = result?.type === "refused" ? result.message : message;
        return failures.refuseInGroup(profile, entry, plugins, own);
      }),
    ]);
  }

  async #postFilter(
    { points }: Profile,
    state: CycleState,
    group: PodGroup,
    pods: readonly Pod[],
  ): Promise<string[]> {
    const messages: string[] = [];
    for (const plugin of points.all) {
      const result = await plugin.postFilterGroup?.(state, group, pods);
      if (result?.message) messages.push(result.message);
    }
    return messages;
  }

  /** `failed`: the pod whose attempt has failed, with this message; the others for that reason. */
  async #fail(
    { group, profile, entries, returns }: Attempt,
    message: string,
    failed?: QueuedPod,
  ): Promise<void> {
    const { failures } = this.#options;
    await Promise.all(returns);
    const forAll =
      failed === undefined ? message : `failed to schedule other pod from a pod group: ${message}`;
    await Promise.all([
      this.#tell(group, { status: "False", reason: "SchedulerError", message: forAll }),
      ...entries.map((entry) =>
        failures.fail(profile, entry, { message: entry === failed ? message : forAll }),
      ),
    ]);
  }

  async #tell(group: PodGroup, outcome: GroupOutcome): Promise<void> {
    await this.#options.status.write(group, outcome);
  }
}

/** Whether a group has its minimum, may get it, or cannot. Upstream: GangScheduling.PlacementFeasible. */
type Feasibility =
  | { readonly type: "met" }
  | { readonly type: "open" | "impossible"; readonly message: string };

function feasible(minCount: number, scheduled: number, remaining: number): Feasibility {
  const counts = `${scheduled} scheduled, ${remaining} remaining`;
  if (remaining + scheduled < minCount)
    return { type: "impossible", message: `minCount (${minCount}) cannot be satisfied: ${counts}` };
  if (scheduled < minCount)
    return { type: "open", message: `minCount (${minCount}) is not yet satisfied: ${counts}` };
  return { type: "met" };
}
