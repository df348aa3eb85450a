import type { Allocator } from "@dray/allocator";
import type { KubeObject } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import type { DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { DeviceTaintSelector } from "@dray/api/resource/v1alpha3";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { type InformerHandler, keyOf, type Log } from "@dray/client";
import { type SchedulerCache, takesRoom } from "../cache/cache.ts";
import { differ, nodeEvent } from "../framework/changes.ts";
import type { Change, ClusterEvent } from "../framework/framework.ts";
import type { WaitingPods } from "../framework/waiting-pods.ts";
import { isExtendedClaim } from "../plugins/dynamic-resources/extended-resources.ts";
import { groupNameOf, type PodGroups } from "../podgroup/pod-groups.ts";
import type { Nominator } from "../queue/nominator.ts";
import type { SchedulingQueue } from "../queue/queue.ts";
import type { Informers } from "../shared/informers.ts";

export interface EventHandlersOptions {
  readonly informers: Informers;
  readonly allocator: Allocator;
  readonly cache: SchedulerCache;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly groups: PodGroups;
  readonly waiting: WaitingPods;
  /** Whether the pod waits for a node from this scheduler. */
  readonly isOurs: (pod: Pod) => boolean;
  /** Wakes the pods that the event may help. */
  readonly notify: (event: ClusterEvent) => void;
  /** Reports an object that cannot be read, and so has no effect. */
  readonly report: (object: KubeObject, error: Error) => void;
  readonly log: Log;
}

/** Updates cache, allocator and nominations from the informers, and notifies the queue. */
export function handleEvents(options: EventHandlersOptions): void {
  const { informers, allocator, notify, report, log } = options;
  informers.pods.handle(podHandler(options));
  informers.nodes.handle(nodeHandler(options));
  informers.claims.handle(claimHandler(options));

  /** Passes slices, classes and taint rules to the allocator. */
  function feed<T extends DeviceClass | ResourceSlice | DeviceTaintRule>(
    kind: "class" | "slice" | "rule",
    changed: (object: T, deleted: boolean) => void,
  ): Record<"add" | "update" | "delete", (object: T) => void> {
    const update = (object: T, deleted: boolean): void => {
      try {
        allocator.update({ kind, object, deleted } as Parameters<Allocator["update"]>[0]);
      } catch (error) {
        report(object, error as Error);
      }
      changed(object, deleted);
    };
    const set = (object: T): void => update(object, false);
    return { add: set, update: set, delete: (object) => update(object, true) };
  }
  informers.classes.handle(
    feed("class", (deviceClass, deleted) => {
      if (!deleted) notify({ kind: "class", deviceClass });
    }),
  );
  // A pool may be valid again without a slice, a device free of a taint without a rule.
  const sliceChanged = (): void => notify({ kind: "slice" });
  informers.slices.handle(feed("slice", sliceChanged));
  const rules = feed<DeviceTaintRule>("rule", sliceChanged);
  informers.groups?.handle(groupHandler(options));
  informers.composites?.handle({
    add: (composite) => {
      const { namespace, name } = composite.metadata;
      notify({ kind: "pod-group", namespace, name, composite });
    },
  });
  informers.rules?.handle({ ...rules, add: whole(rules.add), update: whole(rules.add) });

  /** Rules of 1.34 could choose devices by class and selectors, too; those that do have no effect. */
  function whole(set: (rule: DeviceTaintRule) => void): (rule: DeviceTaintRule) => void {
    return (rule) => {
      const { deviceClassName, selectors } = (rule.spec.deviceSelector ?? {}) as DeviceTaintSelector;
      const field = deviceClassName !== undefined ? "deviceClassName" : selectors?.length ? "selectors" : "";
      if (field === "") set(rule);
      else
        log.warn(
          { rule: rule.metadata.name },
          `spec.deviceSelector.${field} of a taint rule is not supported: the rule has no effect`,
        );
    };
  }

  const volume = (change: Change, object: KubeObject, old?: KubeObject): void =>
    notify({ kind: "volume", change, object, ...(old && { old }) });
  for (const informer of [
    informers.volumeClaims,
    informers.volumes,
    informers.storageClasses,
    informers.csiNodes,
    informers.csiDrivers,
    informers.csiCapacities,
    informers.attachments,
  ])
    informer.handle({
      add: (object) => volume("add", object),
      update: (object, old) => volume("update", object, old),
      delete: (object) => volume("delete", object),
    });
}

function groupHandler({ notify }: EventHandlersOptions): InformerHandler<PodGroup> {
  const changed = (group: PodGroup, old?: PodGroup): void => {
    const { namespace, name } = group.metadata;
    notify({ kind: "pod-group", namespace, name, group, ...(old && { old }) });
  };
  return {
    add: (group) => changed(group),
    update(group, old) {
      if (group.metadata.generation !== old.metadata.generation) changed(group, old);
    },
  };
}

function podHandler(options: EventHandlersOptions): InformerHandler<Pod> {
  const { cache, queue, nominator, groups, waiting, isOurs, notify } = options;
  /** Others of its group may have waited for it. */
  const joined = (pod: Pod): void => {
    const name = groupNameOf(pod);
    if (name !== undefined) notify({ kind: "pod-group", namespace: pod.metadata.namespace, name });
  };
  /** The pod needs no node any longer. A pod that Permit holds releases its room. */
  function leave({ metadata: { uid } }: Pod): void {
    queue.delete(uid);
    nominator.delete(uid);
    waiting.reject(uid, { plugin: "", reasons: ["removed"], resolvable: true });
  }

  /** Takes over the nomination of the status; one of ours that is not in the status yet stays. */
  function nominate(pod: Pod, old?: Pod): void {
    const nominated = pod.status?.nominatedNodeName ?? "";
    const before = old?.status?.nominatedNodeName ?? "";
    const unwritten = nominated === "" && before === "";
    nominator.set(pod, unwritten ? nominator.nodeOf(pod.metadata.uid) : nominated);
  }
  return {
    add(pod) {
      cache.setPod(pod);
      groups.set(pod);
      if (isOurs(pod)) {
        nominate(pod);
        queue.set(pod, true);
      } else if (takesRoom(pod)) notify({ kind: "assigned-pod", change: "add", pod });
      joined(pod);
    },
    update(pod, old) {
      cache.setPod(pod);
      groups.set(pod);
      if (isOurs(pod)) {
        nominate(pod, old);
        queue.set(pod, schedulingChanged(pod, old), old);
      } else {
        leave(pod);
      }
      if (takesRoom(pod)) {
        const change = takesRoom(old) ? "update" : "add";
        if (change === "add" || assignedPodChanged(pod, old))
          notify({ kind: "assigned-pod", change, pod, old });
      } else if (takesRoom(old)) notify({ kind: "assigned-pod", change: "delete", pod });
    },
    delete(pod) {
      const { uid } = pod.metadata;
      cache.removePod(uid);
      groups.delete(pod);
      const nominated = nominator.nodeOf(uid) !== undefined;
      leave(pod);
      // The room that was kept for a nominated pod is free for others.
      if (takesRoom(pod) || nominated) notify({ kind: "assigned-pod", change: "delete", pod });
    },
  };
}

function nodeHandler({ cache, notify }: EventHandlersOptions): InformerHandler<Node> {
  return {
    add(node) {
      cache.setNode(node);
      notify(nodeEvent("add", node));
    },
    update(node, old) {
      cache.setNode(node);
      const event = nodeEvent("update", node, old);
      if (event.changed.size > 0) notify(event);
    },
    delete(node) {
      cache.removeNode(node.metadata.name);
      notify(nodeEvent("delete", node));
    },
  };
}

function claimHandler({
  allocator,
  informers,
  notify,
  report,
}: EventHandlersOptions): InformerHandler<ResourceClaim> {
  const update = (object: ResourceClaim, deleted: boolean): void => {
    try {
      allocator.update({ kind: "claim", object, deleted });
    } catch (error) {
      report(object, error as Error);
    }
  };
  const changed = (claim: ResourceClaim, freed: boolean, old?: ResourceClaim): void => {
    const { namespace, name } = claim.metadata;
    const event = { kind: "claim", namespace, name, freed, claim, ...(old && { old }) } as const;
    // Released devices may help every pod with claims; other changes only the users of the claim.
    const users = (): string[] =>
      informers.pods.byIndex("claim", keyOf({ namespace, name })).map(({ metadata }) => metadata.uid);
    notify(freed ? event : { ...event, users: users() });
  };
  return {
    add(object) {
      update(object, false);
      changed(object, false);
    },
    update(object, old) {
      update(object, false);
      const freed = old.status?.allocation !== undefined && object.status?.allocation === undefined;
      const deletion = old.metadata.deletionTimestamp !== object.metadata.deletionTimestamp;
      if (freed || deletion || differ(old.status, object.status)) changed(object, freed, old);
    },
    delete(object) {
      update(object, true);
      // A pod waits until the claim that an earlier attempt made for its extended resources is gone.
      changed(object, object.status?.allocation !== undefined || isExtendedClaim(object));
    },
  };
}

/** Reports whether the change of a waiting pod may matter to a plugin: its own status conditions do not. */
function schedulingChanged(pod: Pod, old: Pod): boolean {
  return (
    pod.metadata.generation !== old.metadata.generation ||
    differ(pod.metadata.labels, old.metadata.labels) ||
    differ(pod.status?.resourceClaimStatuses, old.status?.resourceClaimStatuses) ||
    differ(pod.spec.schedulingGates, old.spec.schedulingGates)
  );
}

/**
 * Reports whether the change of a pod on a node may matter to a waiting one: its labels, or what it asks for.
 */
function assignedPodChanged(pod: Pod, old: Pod): boolean {
  return (
    differ(pod.metadata.labels, old.metadata.labels) ||
    // Its deletion raises the generation, too.
    (pod.metadata.generation !== old.metadata.generation && differ(pod.spec, old.spec)) ||
    differ(pod.status?.containerStatuses?.map(resources), old.status?.containerStatuses?.map(resources))
  );
}

const resources = ({
  allocatedResources,
  resources: actual,
}: {
  allocatedResources?: unknown;
  resources?: unknown;
}) => [allocatedResources, actual];
