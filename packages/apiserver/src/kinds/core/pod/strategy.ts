import { type KubeObject, type KubernetesVersion, minorOf } from "@dray/api";
import type { Container, Pod } from "@dray/api/core/v1";
import { podQosClass } from "@dray/api/defaults";
import { defaultPodLevelResources, isPodTerminal } from "@dray/api/pod";
import { unset } from "../../../json/unset.ts";
import { thaw } from "../../../storage/json.ts";
import type { Strategy, StrategyContext } from "../../strategy.ts";
import { mergeLabelKeys, takeAppArmorAnnotations } from "./preparation.ts";

export const podStrategy: Strategy<Pod> = {
  prepareForCreate(pod, context) {
    const { version } = context.features;
    if (pod.spec && completesLate(version)) defaultPodLevelResources(pod.spec, version);
    pod.status = { phase: "Pending", qosClass: podQosClass(pod) };
    if (pod.spec?.schedulingGates?.length) {
      pod.status.conditions = [
        {
          type: "PodScheduled",
          status: "False",
          lastProbeTime: unset(),
          lastTransitionTime: context.now,
          reason: "SchedulingGated",
          message: "Scheduling is blocked due to non-empty scheduling gates",
        },
      ];
    }
    mergeLabelKeys(pod);
    takeAppArmorAnnotations(pod, context.warn);
  },

  prepareForUpdate(pod, before, context) {
    if (context.subresource === "resize") keepButResources(pod, before);
    if (completesLate(context.features.version)) {
      const { subresource } = context;
      // A client that lacks the field does not remove it.
      if ((subresource === "" || subresource === "resize") && pod.spec && before.spec?.resources)
        pod.spec.resources ??= thaw(before.spec.resources);
      if (subresource === "resize" && pod.spec) defaultPodLevelResources(pod.spec, context.features.version);
    }
    if (context.subresource === "ephemeralcontainers") keepButEphemeral(pod, before);
    if (context.subresource === "status") {
      copyOwners(pod, before);
      // Never lost by a kubelet that does not know it.
      if (pod.status && !pod.status.qosClass && before.status?.qosClass)
        pod.status.qosClass = before.status.qosClass;
      keepObservedGenerations(pod, before);
      if (minorOf(context.features.version) >= 37) keepClaimStatuses(pod, before, context);
    }
  },

  /**
   * The pod's own grace unless the request says another; none before it runs somewhere and after it has
   * ended.
   */
  gracePeriod(pod, options) {
    if (!pod.spec?.nodeName || isPodTerminal(pod)) return 0;
    const seconds = options.gracePeriodSeconds ?? Number(pod.spec.terminationGracePeriodSeconds ?? 30);
    // Negative grace periods become one second.
    return seconds < 0 ? 1 : seconds;
  },
};

/**
 * Keeps the fields of claims if a writer lacks them, otherwise a pod could not be terminated; an empty list
 * removes them. Upstream: pkg/registry/core/pod/strategy.go, podStatusStrategy.PrepareForUpdate (since
 * 1.37).
 */
function keepClaimStatuses({ status }: Pod, { status: old }: Pod, { provenance }: StrategyContext): void {
  if (!status || !old) return;
  if (old.resourceClaimStatuses && !provenance.cameEmpty(status, "resourceClaimStatuses"))
    status.resourceClaimStatuses ??= thaw(old.resourceClaimStatuses);
  if (old.extendedResourceClaimStatus)
    status.extendedResourceClaimStatus ??= thaw(old.extendedResourceClaimStatus);
  if (
    old.nodeAllocatableResourceClaimStatuses &&
    !provenance.cameEmpty(status, "nodeAllocatableResourceClaimStatuses")
  )
    status.nodeAllocatableResourceClaimStatuses ??= thaw(old.nodeAllocatableResourceClaimStatuses);
}

/**
 * A writer that does not know `observedGeneration` (KEP-5067) loses neither the status' own nor its
 * conditions'.
 */
function keepObservedGenerations({ status }: Pod, { status: old }: Pod): void {
  if (!status) return;
  if (!status.observedGeneration && old?.observedGeneration)
    status.observedGeneration = old.observedGeneration;
  // Conditions of a repeated type correspond by their order.
  const known = Map.groupBy((old?.conditions ?? []).toReversed(), ({ type }) => type);
  for (const condition of status.conditions ?? []) {
    const before = known.get(condition.type)?.pop();
    if (!condition.observedGeneration && before?.observedGeneration)
      condition.observedGeneration = before.observedGeneration;
  }
}

/** Resources of the pod as a whole are completed after admission (PodLevelResourcesFixDefaulting). */
const completesLate = (version: KubernetesVersion): boolean => minorOf(version) >= 37;

/**
 * Only what containers ask for is taken of a resize; containers that came, went or moved are for validation.
 */
function keepButResources(pod: Pod, old: Pod): void {
  const [spec, before] = [pod.spec, old.spec];
  if (!spec || !before) return;
  // Null is an empty list.
  const merged = (
    sent: readonly Container[] | null | undefined,
    stored: readonly Container[] | undefined,
  ): Container[] | undefined => {
    const [now, then] = [sent ?? [], stored ?? []];
    if (now.length !== then.length) return undefined;
    return now.every(({ name }, index) => name === then[index]?.name)
      ? now.map((container, index) => withResources(then[index]!, container))
      : [...now];
  };
  const containers = merged(spec.containers, before.containers);
  const initContainers = merged(spec.initContainers, before.initContainers);
  if (containers === undefined || initContainers === undefined) return;
  const { resources: _, ...rest } = before;
  pod.spec = {
    ...rest,
    containers,
    ...(before.initContainers === undefined ? {} : { initContainers }),
    ...(spec.resources === undefined ? {} : { resources: spec.resources }),
  };
  keepMetadata(pod, old);
}

function withResources(before: Container, { resources, resizePolicy }: Container): Container {
  const { resources: _, resizePolicy: __, ...rest } = before;
  return {
    ...rest,
    ...(resources === undefined ? {} : { resources }),
    ...(resizePolicy === undefined ? {} : { resizePolicy }),
  };
}

function keepButEphemeral(pod: Pod, old: Pod): void {
  const { ephemeralContainers } = pod.spec ?? {};
  const { ephemeralContainers: _, ...rest } = old.spec;
  pod.spec = { ...rest, ...(ephemeralContainers === undefined ? {} : { ephemeralContainers }) };
  keepMetadata(pod, old);
}

/** Of the metadata, these subresources change managedFields only. */
function keepMetadata({ metadata }: Pod, old: Pod): void {
  for (const field of ["labels", "annotations", "finalizers", "ownerReferences"] as const) {
    const value = old.metadata[field];
    if (value === undefined) delete metadata[field];
    else Object.assign(metadata, { [field]: value });
  }
}

function copyOwners(pod: Pod, old: KubeObject): void {
  if (old.metadata.ownerReferences === undefined) delete pod.metadata.ownerReferences;
  else pod.metadata.ownerReferences = old.metadata.ownerReferences;
}
