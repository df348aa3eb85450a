import type { Kind } from "@dray/api";
import type { Condition } from "@dray/api/meta/v1";
import type { DeviceTaintRule } from "@dray/api/resource/v1";
import { hasReached, type Informer, timeText, type WorkQueue } from "@dray/client";
import type { ControllerContext, ControllerQueues } from "../shared/context.ts";
import { selects } from "./evictions.ts";
import { evictionInProgress, type RuleCounts, ruleCondition } from "./rule-condition.ts";
import type { TaintState } from "./taint-state.ts";

/**
 * Milliseconds between two changes of a rule's condition while its spec stays. Upstream: ruleStatusPeriod.
 */
export const statusPeriod = 10_000;

/** How many pods have been deleted because of a rule, by the rule's uid. */
export type EvictedPods = Map<string, number>;

interface Followed {
  readonly kind: Kind<DeviceTaintRule>;
  readonly rules: Informer<DeviceTaintRule>;
  readonly state: TaintState;
  readonly evicted: EvictedPods;
  /** Owns the condition (server-side apply). */
  readonly manager: string;
}

/** Keeps the condition of rules; the queue has the names of rules whose condition may have to change. */
export function followRules(
  context: ControllerContext,
  queues: ControllerQueues,
  { kind, rules, state, evicted, manager }: Followed,
): WorkQueue | undefined {
  const { client, clock, features } = context;
  // A rule of 1.34 has no status.
  if (features.version === "1.34") return undefined;

  const queue = queues.queue("device-taint-eviction/rules", async (name) => {
    const rule = rules.get({ name });
    if (rule === undefined) return;
    const old = rule.status?.conditions?.find(({ type }) => type === evictionInProgress);
    const now = clock.now();
    if (old !== undefined && Number(old.observedGeneration ?? 0) === Number(rule.metadata.generation ?? 0)) {
      const next = Date.parse(old.lastTransitionTime ?? "") + statusPeriod;
      if (next > now) return queue.addAfter(name, next - now);
    }
    const condition = ruleCondition(rule, {
      ...countPods(state, rule),
      evicted: evicted.get(rule.metadata.uid) ?? 0,
    });
    if (old !== undefined && isSame(old, condition)) return;
    const { uid } = rule.metadata;
    const written = await client.resource(kind).apply(
      {
        metadata: { name, uid },
        // Bumped with every change of the condition: the next change waits for `statusPeriod`.
        status: { conditions: [{ ...condition, lastTransitionTime: timeText(now) }] },
      },
      { fieldManager: manager, force: true, subresource: "status" },
    );
    await rules.until(() => rules.get({ name })?.metadata.uid !== uid || hasReached(rules, written));
  });
  rules.handle({
    add: ({ metadata }) => queue.add(metadata.name),
    update(rule, old) {
      const { metadata } = rule;
      if (metadata.uid !== old.metadata.uid) evicted.delete(old.metadata.uid);
      if (metadata.uid !== old.metadata.uid || metadata.generation !== old.metadata.generation)
        queue.add(metadata.name);
    },
    delete: ({ metadata }) => evicted.delete(metadata.uid),
  });
  return queue;
}

function isSame(old: Condition, condition: ReturnType<typeof ruleCondition>): boolean {
  return (
    old.status === condition.status &&
    old.reason === condition.reason &&
    (old.message ?? "") === condition.message &&
    Number(old.observedGeneration ?? 0) === condition.observedGeneration
  );
}

/** Pods that the rule evicts; with effect None, the pods that it would evict with NoExecute. */
function countPods(state: TaintState, rule: DeviceTaintRule): Omit<RuleCounts, "evicted"> {
  const counts = { pods: 0, namespaces: 0, published: 0, allocated: 0 };
  const { taint } = rule.spec;
  if (taint?.effect !== "NoExecute" && taint?.effect !== "None") return counts;
  const evicting = { ...rule, spec: { ...rule.spec, taint: { ...taint, effect: "NoExecute" } } };
  const namespaces = new Set<string>();
  for (const pod of state.users()) {
    if (!state.podEviction(pod, [evicting])?.rules.has(rule.metadata.uid)) continue;
    counts.pods++;
    namespaces.add(pod.metadata.namespace);
  }
  counts.namespaces = namespaces.size;
  if (taint.effect === "NoExecute") return counts;
  for (const { driver, pool, device } of state.pools.devices())
    if (selects(rule, driver, pool, device.name)) counts.published++;
  for (const { status } of state.claims)
    for (const { driver, pool, device } of status?.allocation?.devices?.results ?? [])
      if (selects(rule, driver, pool, device)) counts.allocated++;
  return counts;
}
