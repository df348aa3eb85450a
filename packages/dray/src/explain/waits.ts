import type { Pod, PodResourceClaim } from "@dray/api/core/v1";
import { isPodActive } from "@dray/api/pod";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { isForPod, isReservedForPod } from "@dray/controllers/objects";
import { hasPodGroups } from "@dray/scheduler";
import { idOf, resultsOf } from "../inventory/devices.ts";
import { missingText } from "../manifests/missing.ts";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { names } from "../text/words.ts";
import { requestedClasses } from "../top/rows.ts";
import type { Wait } from "./data.ts";
import { extendedWaits } from "./extended-waits.ts";
import { waitsToEnd } from "./node-waits.ts";
import { claimsOfPod, eventOf, type Scene, wait } from "./scene.ts";
import { type Surroundings, sinceOf } from "./surroundings.ts";
import { volumeWaits } from "./volume-waits.ts";

/**
 * Returns the reasons why a pod without a node is not tried, and the result of the last attempt, in order.
 */
export function waitsBeforeScheduling(pod: Pod, scene: Scene): Wait[] {
  const known = [
    ...claimWaits(pod, scene),
    ...(pod.spec.schedulingGates ?? []).map(({ name }) =>
      wait("scheduling-gate", `scheduling gate ${name}: whoever set it has to remove it`),
    ),
    ...volumeWaits(pod, scene),
    ...extendedWaits(pod, scene),
    ...groupWaits(pod, scene),
    ...bindingWaits(pod, scene),
    ...preemptionWaits(pod, scene),
  ];
  // A scheduler does not report a pod that PreEnqueue holds back.
  return known.length > 0 ? known : schedulerWaits(pod, scene);
}

function claimWaits(pod: Pod, scene: Scene): Wait[] {
  const { world } = scene;
  return claimsOfPod(pod, world).flatMap(({ entry, name, owned, claim }): Wait[] => {
    // A scheduler that tries again deletes the claim for extended resources that it has left, or uses it.
    if (name === null || entry === undefined) return [];
    if (name === undefined) return notCreated(pod, entry, scene);
    const object = `ResourceClaim ${pod.metadata.namespace}/${name}`;
    if (claim === undefined)
      return [
        wait("claim-missing", missingText(world, "ResourceClaim", pod.metadata.namespace, name), { object }),
      ];
    const unusable = whyUnusable(pod, claim, owned);
    if (unusable !== undefined) return [wait("claim-unusable", unusable, { object })];
    return claim.status?.allocation === undefined ? missingClasses(claim, world) : [];
  });
}

function notCreated(pod: Pod, entry: PodResourceClaim, scene: Scene): Wait[] {
  const { world, surroundings } = scene;
  const template = entry.resourceClaimTemplateName;
  if (template === undefined)
    return [wait("claim-not-created", `claim ${entry.name}: it names neither a claim nor a template`)];
  const { namespace } = pod.metadata;
  const object = `ResourceClaimTemplate ${namespace}/${template}`;
  if (world.find("ResourceClaimTemplate", `${namespace}/${template}`) === undefined)
    return [
      wait("claim-missing", missingText(world, "ResourceClaimTemplate", namespace, template), { object }),
    ];
  const failed = eventOf(surroundings.events, "FailedResourceClaimCreation");
  // The trial makes the claims of manifests, on which no controller has acted.
  if (failed === undefined && !surroundings.isLive) return [];
  if (failed === undefined)
    return [
      wait(
        "claim-not-created",
        `claim ${entry.name}: the controller has not created it from template ${template} yet`,
        { object },
      ),
    ];
  const message = failed.message ?? "";
  const isQuota = /exceeded quota/.test(message);
  const full = isQuota ? surroundings.quotas.flatMap(quotaTexts) : [];
  const detail = full.length === 0 ? "" : ` (${full.join("; ")})`;
  return [
    wait(isQuota ? "quota" : "claim-not-created", `claim ${entry.name}: ${message}${detail}`, {
      object,
      since: sinceOf(failed),
    }),
  ];
}

/** Lists the exhausted resources of a quota. */
function quotaTexts({ metadata, status }: Surroundings["quotas"][number]): string[] {
  return Object.entries(status?.hard ?? {}).flatMap(([resource, hard]) => {
    const used = status?.used?.[resource];
    return used !== undefined && String(used) === String(hard)
      ? [`quota ${metadata.name}: ${used} of ${hard} ${resource} are used`]
      : [];
  });
}

/** Maximum number of consumers of a claim (resource/v1 ResourceClaimStatus.reservedFor). */
const maxConsumers = 256;

function whyUnusable(pod: Pod, claim: ResourceClaim, owned: boolean): string | undefined {
  const name = nameOf(claim);
  const consumers = claim.status?.reservedFor ?? [];
  if (claim.metadata.deletionTimestamp !== undefined)
    return `claim ${name} is being deleted${consumers.length === 0 ? "" : `: ${names(consumers.map((each) => each.name))} still use it`}`;
  if (owned && !isForPod(pod, claim, true))
    return `claim ${name} was not created for this pod or its group: another object has the name that it needs`;
  if (!isReservedForPod(pod, claim, true) && consumers.length >= maxConsumers)
    return `claim ${name} has ${consumers.length} consumers: no more than ${maxConsumers} can use it`;
  return undefined;
}

export function missingClasses(claim: ResourceClaim, world: World): Wait[] {
  const missing = requestedClasses(claim.spec.devices?.requests ?? []).filter(
    ({ deviceClass }) => world.find("DeviceClass", deviceClass) === undefined,
  );
  return missing.map(({ request, deviceClass }) =>
    wait(
      "class-missing",
      `claim ${nameOf(claim)}, request ${request}: ${missingText(world, "DeviceClass", undefined, deviceClass)}`,
      { object: `DeviceClass ${deviceClass}` },
    ),
  );
}

function groupWaits(pod: Pod, { world, surroundings, features }: Scene): Wait[] {
  const name = pod.spec.schedulingGroup?.podGroupName;
  if (name === undefined) return [];
  const object = `PodGroup ${pod.metadata.namespace}/${name}`;
  const group =
    surroundings.podGroups.find(({ metadata }) => metadata.name === name) ??
    world.find("PodGroup", `${pod.metadata.namespace}/${name}`);
  if (group === undefined) {
    if (
      !surroundings.servesPodGroups ||
      !hasPodGroups(features) ||
      surroundings.missing.some(({ kind }) => kind === "PodGroup")
    )
      return [];
    return [
      wait("pod-group", `there is no PodGroup "${name}": its pods wait until it is created`, { object }),
    ];
  }
  const members = world.all("Pod").filter(({ object: other }) => {
    const sameNamespace = other.metadata.namespace === pod.metadata.namespace;
    return sameNamespace && other.spec.schedulingGroup?.podGroupName === name && isPodActive(other);
  }).length;
  const minCount = group.spec.schedulingPolicy.gang?.minCount;
  if (minCount !== undefined && members < Number(minCount))
    return [
      wait(
        "pod-group",
        `group ${name}: ${members} of the ${minCount} pods that have to start together (minCount) exist`,
        { object },
      ),
    ];
  return [];
}

/** Returns the reason that the scheduler reports for the group, in its words. */
export function groupConditionWaits(pod: Pod, { surroundings }: Scene): Wait[] {
  const name = pod.spec.schedulingGroup?.podGroupName;
  const group = surroundings.podGroups.find(({ metadata }) => metadata.name === name);
  const condition = group?.status?.conditions?.find(
    ({ type, status }) => type === "PodGroupInitiallyScheduled" && status === "False",
  );
  if (condition === undefined) return [];
  const object = `PodGroup ${pod.metadata.namespace}/${name}`;
  const since = condition.lastTransitionTime ?? null;
  return [
    wait("pod-group", `group ${name}: ${condition.message}`, { object, since: since && String(since) }),
  ];
}

/** Returns devices that must be prepared for their node before the pod is bound (KEP-5007). */
function bindingWaits(pod: Pod, { world }: Scene): Wait[] {
  return claimsOfPod(pod, world).flatMap(({ claim }): Wait[] => {
    if (claim === undefined) return [];
    return resultsOf(claim).flatMap((result): Wait[] => {
      const conditions = conditionsOf(claim, result);
      const isTrue = (type: string): boolean =>
        conditions.some((each) => each.type === type && each.status === "True");
      const open = (result.bindingConditions ?? []).filter((type) => !isTrue(type));
      const failed = (result.bindingFailureConditions ?? [])
        .filter(isTrue)
        .flatMap((type) => conditions.find((each) => each.type === type) ?? []);
      if (open.length === 0 && failed.length === 0) return [];
      const why = failed.map(
        ({ type, reason, message }) => `${type} (${[reason, message].filter((part) => part).join(": ")})`,
      );
      const text =
        failed.length > 0
          ? `its driver reports ${why.join(", ")}: the allocation is given up`
          : `its driver has not reported ${open.join(", ")}`;
      const since = claim.status?.allocation?.allocationTimestamp;
      return [
        wait("binding-conditions", `device ${idOf(result)} of claim ${nameOf(claim)}: ${text}`, {
          object: `ResourceClaim ${nameOf(claim)}`,
          since: since === undefined ? null : String(since),
        }),
      ];
    });
  });
}

/** Returns the driver's report about an allocated device (KEP-4817). */
export function conditionsOf(
  claim: ResourceClaim,
  { driver, pool, device, shareID }: ReturnType<typeof resultsOf>[number],
) {
  const status = claim.status?.devices?.find(
    (each) =>
      each.driver === driver && each.pool === pool && each.device === device && each.shareID === shareID,
  );
  return status?.conditions ?? [];
}

function preemptionWaits(pod: Pod, scene: Scene): Wait[] {
  const { world } = scene;
  const node = pod.status?.nominatedNodeName;
  if (!node) return [];
  const victims = world
    .all("Pod")
    .map(({ object }) => object)
    .filter(
      ({ metadata, spec, status }) =>
        spec.nodeName === node &&
        (metadata.deletionTimestamp !== undefined ||
          status?.conditions?.some(
            ({ type, reason }) => type === "DisruptionTarget" && reason === "PreemptionByScheduler",
          ) === true),
    );
  // Without victims it is the scheduler's turn.
  if (victims.length === 0 && world.isReadable("Pod")) return [];
  const whom =
    victims.length === 0
      ? ""
      : `: ${names(victims.map(nameOf))} ${victims.length === 1 ? "is" : "are"} ending there`;
  // Events are those of the pod.
  const theirs = { ...scene, surroundings: { ...scene.surroundings, events: [] } };
  const [held] = victims.flatMap((victim) => waitsToEnd(victim, theirs));
  const why = held === undefined ? "" : ` (${held.message})`;
  return [wait("preemption", `node ${node} is kept for it${whom}${why}`, { object: `Node ${node}` })];
}

/** Words for a pod whose scheduler is silent. */
function schedulerWaits(pod: Pod, { surroundings }: Scene): Wait[] {
  // Manifests have no scheduler.
  if (!surroundings.isLive) return [];
  const condition = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (condition?.status === "False") return [];
  const looked = surroundings.events.some(({ reason }) => reason === "FailedScheduling");
  if (looked || condition !== undefined) return [];
  const scheduler = pod.spec.schedulerName ?? "default-scheduler";
  return [wait("scheduler", `scheduler "${scheduler}" has not reported anything about it: is it running?`)];
}
