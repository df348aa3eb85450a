import type { Explanation } from "@dray/allocator";
import type { Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { SchedulerCache } from "../cache/cache.ts";
import { assumed } from "../cycle/binding-cycle.ts";
import type { Decision } from "../cycle/scheduling-cycle.ts";
import {
  type ExtendedClass,
  extendedClaim,
  extendedRequests,
  servedResources,
} from "../plugins/dynamic-resources/extended-resources.ts";
import { claimsOf } from "../plugins/dynamic-resources/pod-claims.ts";
import type { PluginOptions } from "../plugins/registry.ts";
import { hasPodGroups } from "../podgroup/pod-groups.ts";
import type { Reserving } from "../podgroup-cycle/placement.ts";
import { OfflineObjects } from "./objects.ts";
import { offlineGroups, refusedPlacement } from "./pod-groups.ts";
import { offlineProfiles } from "./profiles.ts";
import { shortagesOf } from "./shortages.ts";
import type { OfflineOptions, OfflineScheduler, Placement } from "./types.ts";

export function createOfflineScheduler(options: OfflineOptions): OfflineScheduler {
  const { features } = options;
  const objects = new OfflineObjects(options);
  const { equivalentPods, cache, claims, groups } = objects;
  const profileOf = offlineProfiles(options.configuration, pluginOptions(objects, options));

  async function decide(pod: Pod): Promise<Decision> {
    const { cycle, points } = profileOf(pod);
    for (;;) {
      const decision = cycle.decide(pod, objects.nodes, equivalentPods.resultsFor(pod));
      if (decision.type === "placed") return decision;
      const { deallocated } = claims;
      for (const plugin of points.postFilter)
        await plugin.postFilter(decision.state, pod, decision.diagnosis.rejections);
      // An idle claim gave its devices back: the pod is tried again.
      if (claims.deallocated === deallocated) return decision;
      equivalentPods.clear();
    }
  }

  type Attempt = Extract<Decision, { type: "placed" }> | Exclude<Placement, { type: "placed" }>;

  /** Pods of a group that are asked about one by one do not wait for the others. */
  function gateOf(pod: Pod, inGroup: boolean): string | undefined {
    for (const plugin of profileOf(pod).points.preEnqueue) {
      const message = inGroup || plugin.name !== "GangScheduling" ? plugin.preEnqueue(pod) : undefined;
      if (message !== undefined) return message;
    }
    return undefined;
  }

  async function attempt(pod: Pod): Promise<Attempt> {
    const gate = gateOf(pod, false);
    if (gate !== undefined) return { type: "gated", message: gate };
    let decision: Decision;
    try {
      decision = await decide(pod);
    } catch (error) {
      return { type: "error", message: (error as Error).message };
    }
    if (decision.type === "placed") return decision;
    return refusedPlacement(decision.diagnosis);
  }

  const reserving = reservingIn(cache);

  /** Writes what is reserved, and puts the pod on its node for good. */
  async function settle(pod: Pod, { node, state }: Decision & { type: "placed" }): Promise<Placement> {
    equivalentPods.devicesTaken();
    const { points } = profileOf(pod);
    for (const plugin of points.preBind) await plugin.preBind(state, pod, node);
    const known = assumed(points, state, pod, node);
    cache.setPod({ ...known, spec: { ...pod.spec, nodeName: node.name } });
    return { type: "placed", node: node.name };
  }

  const placeGroup = offlineGroups({
    groups,
    reserving,
    profileOf,
    features,
    nodes: () => objects.nodes,
    gateOf: (pod) => gateOf(pod, true),
    settle,
    freed: () => {
      const before = claims.deallocated;
      return () => {
        const isFreed = claims.deallocated !== before;
        if (isFreed) equivalentPods.clear();
        return isFreed;
      };
    },
  });

  return {
    add: (object) => objects.add(object),
    async schedule(pod) {
      const decision = await attempt(pod);
      if (decision.type !== "placed") return decision;
      reserving.take(profileOf(pod), { pod }, decision);
      return settle(pod, decision);
    },
    scheduleGroup: placeGroup,
    async preview(pod) {
      const decision = await attempt(pod);
      return decision.type === "placed" ? { type: "placed", node: decision.node.name } : decision;
    },
    claim: (namespace, name) => claims.get(namespace, name),
    extendedClaim: (pod) => claims.extended(pod),
    podOn: (node, { metadata }) => cache.node(node)?.pods.get(metadata.uid),
    explain: (pod, node) => explainClaims(objects, features, pod, node),
    shortages(pod, node) {
      const info = cache.node(node);
      return info === undefined ? [] : shortagesOf(pod, info, extendedClassOf(objects, features));
    },
  };
}

const extendedClassOf = (objects: OfflineObjects, features: Features): ExtendedClass | undefined =>
  features.enabled("DRAExtendedResource") ? objects.extendedClass : undefined;

function pluginOptions(
  objects: OfflineObjects,
  { features, newId, now, volumes = false }: OfflineOptions,
): PluginOptions {
  const { allocator, claims, groups, pending } = objects;
  const extendedClass = extendedClassOf(objects, features);
  return {
    features,
    allocator,
    claims,
    pending,
    ...(hasPodGroups(features) && { groups }),
    deviceClass: (name) => objects.classes.get(name),
    ...(extendedClass !== undefined && { extendedClass }),
    ...(volumes && { volumes: { lookup: objects.volumes, writer: objects.volumes.writer } }),
    newId,
    namespaceLabels: (name) => objects.namespaces.get(name)?.metadata.labels,
    now,
    random: () => 0,
  };
}

/** Assumes pods on their nodes with what plugins reserve for them. */
function reservingIn(cache: SchedulerCache): Reserving {
  return {
    take({ points }, { pod }, { node, state }) {
      cache.assume(assumed(points, state, pod, node), node.name);
      for (const plugin of points.reserve) {
        const rejection = plugin.reserve?.(state, pod, node);
        if (rejection !== undefined) return rejection;
      }
      return undefined;
    },
    undo({ points }, pod, node, state) {
      cache.unassume(pod.metadata.uid);
      for (const plugin of points.reserve.toReversed()) plugin.undo?.(state, pod, node);
    },
  };
}

/** As `OfflineScheduler.explain`. */
function explainClaims(
  objects: OfflineObjects,
  features: Features,
  pod: Pod,
  name: string,
): Explanation | undefined {
  const { allocator, cache, claims, pending } = objects;
  const node = cache.node(name);
  const find = (claim: string) => claims.get(pod.metadata.namespace, claim);
  const found = claimsOf(pod, find, features.enabled("DRAWorkloadResourceClaims"));
  if (node === undefined || "problem" in found) return undefined;
  const open = found.claims.flatMap(({ claim }) =>
    claim.status?.allocation || pending.get(claim.metadata.uid) ? [] : [claim],
  );
  const served = servedResources(pod, node.allocatable, extendedClassOf(objects, features));
  if (served.size > 0) {
    const { requests } = extendedRequests(pod, served);
    open.push({
      ...extendedClaim(pod, pod.metadata.uid),
      spec: { devices: { requests: [...requests] } },
    });
  }
  return open.length === 0 ? undefined : allocator.explain(node.node, open);
}
