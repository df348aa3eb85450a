import type { SchedulerCache } from "../cache/cache.ts";
import type { BindingCycle } from "../cycle/binding-cycle.ts";
import type { FailureHandler } from "../cycle/failure-handler.ts";
import type { Profile } from "../cycle/profile.ts";
import type { CycleState, GroupPostFilterResult, GroupTrial } from "../framework/framework.ts";
import { type GroupNode, leavesOf, podsOf } from "../framework/group-tree.ts";
import type { SchedulerMetrics } from "../metrics/scheduler-metrics.ts";
import { groupNameOf, type PodGroups } from "../podgroup/pod-groups.ts";
import type { GroupStatusWriter } from "../podgroup/status.ts";
import { groupProblem } from "../podgroup/validity.ts";
import type { Nominator } from "../queue/nominator.ts";
import type { SchedulingQueue } from "../queue/queue.ts";
import type { QueuedPod } from "../queue/queued-pod.ts";
import type { EquivalentPods } from "../shared/equivalent-pods.ts";
import {
  allFailed,
  type LeafOutcome,
  noPostFilter,
  outcomesOf,
  type PostFilterOutcome,
  refusalOf,
  rejectedBy,
} from "./outcomes.ts";
import { type GroupPlacer, type GroupResult, groupIsUnschedulable, type PlacedMember } from "./placement.ts";

export interface GroupCycleOptions {
  readonly groups: PodGroups;
  readonly queue: SchedulingQueue;
  readonly cache: SchedulerCache;
  readonly bindings: BindingCycle;
  readonly placer: GroupPlacer;
  readonly nominator: Nominator;
  /** Absent where nodes are asked anew for each pod. */
  readonly equivalentPods: EquivalentPods | undefined;
  readonly failures: FailureHandler;
  readonly status: GroupStatusWriter;
  readonly metrics: SchedulerMetrics;
  /** Whether groups have a preemption policy of their own (gate PodGroupPreemptionPolicy). */
  readonly hasPolicies: boolean;
}

export interface PoppedGroup {
  readonly root: GroupNode;
  readonly entries: readonly QueuedPod[];
}

interface Attempt {
  readonly root: GroupNode;
  readonly profile: Profile;
  /** By uid. */
  readonly entries: ReadonlyMap<string, QueuedPod>;
  /** State that plugins share between the pods. */
  readonly state: CycleState;
  readonly since: number;
}

/**
 * Schedules the waiting pods of a group together, against the same nodes: where fewer than its minimum can be
 * placed, none is. Upstream: pkg/scheduler/schedule_one_podgroup.go
 */
export class GroupCycle {
  readonly #options: GroupCycleOptions;

  constructor(options: GroupCycleOptions) {
    this.#options = options;
  }

  /**
   * The group of the pod with the group around it, and all pods of it that wait, the given one first;
   * `waiting`: they wait for one that is turned away. Undefined: the pod is on its own.
   */
  take(entry: QueuedPod): PoppedGroup | "waiting" | undefined {
    const { groups, queue } = this.#options;
    if (groupNameOf(entry.pod) === undefined) return undefined;
    const root = groups.knownRootOf(entry.pod);
    const members =
      root === undefined ? [] : leavesOf(root).flatMap(({ object }) => groups.membersOf(object));
    const others = queue.takeWith(
      entry,
      members.map(({ metadata }) => metadata.uid),
    );
    if (others === undefined) return "waiting";
    return root && { root, entries: [entry, ...others] };
  }

  /**
   * Places what can be placed, at once; resolves when the pods are bound or their conditions say why not.
   * Throws BudgetExceeded when the turn is over, and everything is as it was.
   */
  schedule(profile: Profile, taken: GroupNode, waiting: readonly QueuedPod[]): Promise<void> {
    const { groups, placer, cache, equivalentPods, metrics, hasPolicies } = this.#options;
    const since = waiting[0]!.attemptSince;
    const root = groups.withPods(
      taken,
      waiting.map(({ pod }) => pod),
    );
    const entries = new Map(waiting.map((entry) => [entry.pod.metadata.uid, entry]));
    const attempt: Attempt = { root, profile, entries, state: new Map(), since };
    const problem = groupProblem(root, groups, hasPolicies);
    if (problem !== undefined) return this.#fail(attempt, problem);
    const result = placer.place(attempt, root, cache.nodes);
    metrics.groupDecided(since);
    if (result.verdict.type === "refused") return this.#refuse(attempt, result);
    const isMet = result.verdict.type === "met";
    if (isMet) equivalentPods?.devicesTaken();
    metrics.groupAttempted(profile.name, isMet ? "scheduled" : "error", since);
    return this.#submit(attempt, outcomesOf(root, result), noPostFilter);
  }

  /** Code before the first `await` sees the nodes as they were when they rejected the group. */
  async #refuse(attempt: Attempt, result: GroupResult): Promise<void> {
    const { metrics } = this.#options;
    const { root, profile, state, since } = attempt;
    const { placer, cache } = this.#options;
    const tryAgain = (): GroupTrial => placer.try({ profile, state: new Map() }, root, cache.nodes);
    const refused = { group: root, pods: podsOf(root), state, tryAgain };
    const pending: (GroupPostFilterResult | Promise<GroupPostFilterResult>)[] = [];
    const outcomes = outcomesOf(root, result);
    const begun = metrics.now();
    let results: GroupPostFilterResult[];
    try {
      for (const plugin of profile.points.podGroupPostFilter) pending.push(plugin.postFilterGroup(refused));
      // Pods that are scheduled while the others are awaited must know of it.
      for (const each of pending) if (!(each instanceof Promise)) this.#nominate(attempt, each);
      await this.#takeBack(attempt, outcomes);
      results = await Promise.all(pending);
    } catch (error) {
      await Promise.allSettled(pending);
      return this.#fail(attempt, (error as Error).message);
    }
    const decisive = results.find(({ verdict }) => verdict !== undefined);
    const reported = decisive === undefined ? results : [decisive];
    const reasons = reported.flatMap(({ message }) => (message ? [message] : []));
    const isWaiting = decisive?.verdict === "done";
    const nominated = isWaiting ? (decisive.nominatedNodes ?? new Map<string, string>()) : undefined;
    metrics.point("PodGroupPostFilter", profile.name, isWaiting ? "Success" : "Unschedulable", begun);
    metrics.groupAttempted(profile.name, isWaiting ? "waiting_on_preemption" : "unschedulable", since);
    await this.#submit(attempt, outcomes, { reasons, nominated });
  }

  #nominate({ entries }: Attempt, { nominatedNodes }: GroupPostFilterResult): void {
    const { queue, nominator } = this.#options;
    for (const [uid, node] of nominatedNodes ?? []) {
      const entry = entries.get(uid);
      if (entry !== undefined && queue.has(entry)) nominator.set(entry.pod, node);
    }
  }

  /** Deletes what earlier attempts have written for pods that had a node in this one. */
  async #takeBack({ profile }: Attempt, outcomes: readonly LeafOutcome[]): Promise<void> {
    const members = outcomes.flatMap((outcome) => [...outcome.members.values()]);
    await Promise.all(
      members.map(async (member) => {
        if (member.type !== "placed") return;
        await this.#options.bindings.takeBack(profile, member.pod, member.node, member.state);
      }),
    );
  }

  async #fail({ root, ...attempt }: Attempt, message: string): Promise<void> {
    const { metrics } = this.#options;
    metrics.groupAttempted(attempt.profile.name, "error", attempt.since);
    await this.#submit({ root, ...attempt }, allFailed(root, message), noPostFilter);
  }

  /**
   * Binds the pods with a node of groups that have their minimum; the others wait. Upstream:
   * submitPodGroupAlgorithmResult.
   */
  async #submit(
    attempt: Attempt,
    outcomes: readonly LeafOutcome[],
    afterwards: PostFilterOutcome,
  ): Promise<void> {
    const plugins = rejectedBy(attempt.root, outcomes);
    await Promise.all(
      outcomes.flatMap((outcome) => [
        this.#report(outcome, afterwards),
        ...outcome.leaf.pods.map((pod) => {
          // The pods of the tree are those of the entries.
          const entry = attempt.entries.get(pod.metadata.uid)!;
          return this.#submitPod(attempt.profile, entry, outcome, { afterwards, plugins });
        }),
      ]),
    );
  }

  #submitPod(
    profile: Profile,
    entry: QueuedPod,
    { verdict, members, failed }: LeafOutcome,
    { afterwards, plugins }: { readonly afterwards: PostFilterOutcome; readonly plugins: readonly string[] },
  ): Promise<void> {
    const { failures } = this.#options;
    const { uid } = entry.pod.metadata;
    const member = members.get(uid);
    switch (verdict.type) {
      case "met":
        if (member?.type === "placed") return this.#bind(profile, entry, member);
        return failures.refuseInGroup(
          profile,
          entry,
          member?.plugins ?? plugins,
          refusalOf(uid, member, groupIsUnschedulable, afterwards),
        );
      case "refused":
        return failures.refuseInGroup(
          profile,
          entry,
          plugins,
          refusalOf(uid, member, verdict.message, afterwards),
        );
      case "failed": {
        const message = failed?.pod.metadata.uid === uid ? failed.message : verdict.message;
        return failures.fail(profile, entry, { message });
      }
    }
  }

  async #bind(profile: Profile, entry: QueuedPod, { decision }: PlacedMember): Promise<void> {
    const { bindings, failures } = this.#options;
    const { node, state } = decision;
    const permitted = bindings.permit(profile, entry, decision);
    if (permitted instanceof Map) return bindings.bind(profile, entry, decision, permitted);
    await bindings.giveBack(profile, entry.pod, node, state);
    await failures.reject(profile, entry, node.name, permitted);
  }

  #report({ leaf: { object }, verdict }: LeafOutcome, { reasons }: PostFilterOutcome): Promise<void> {
    const { status } = this.#options;
    switch (verdict.type) {
      case "met":
        return status.write(object, { status: "True", reason: "Scheduled", message: "" });
      case "refused": {
        const message = [verdict.message, ...reasons].join(", ");
        return status.write(object, { status: "False", reason: "Unschedulable", message });
      }
      case "failed":
        return status.write(object, { status: "False", reason: "SchedulerError", message: verdict.message });
    }
  }
}
