import type { Features } from "@dray/api";
import { Pod, type PodResourceClaim } from "@dray/api/core/v1";
import { createdPodClaims } from "@dray/api/pod";
import type { ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import { PodGroup } from "@dray/api/scheduling/v1beta1";
import {
  claimNameBase,
  consumerOf,
  controllerOf,
  controllerReference,
  isDone,
  isGroupClaim,
  isReservedForPod,
  podClaimAnnotation,
} from "@dray/controllers/objects";
import { hasPodGroups } from "@dray/scheduler";
import { uidOf } from "../manifests/decode.ts";
import { missingText } from "../manifests/missing.ts";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import type { OriginPod } from "./workloads.ts";

export interface PodClaims {
  /** The pods, with the names of their generated claims in their status. */
  readonly pods: readonly OriginPod[];
  /** All claims: the given ones, with the running pods that use them, and generated ones. */
  readonly claims: readonly ResourceClaim[];
}

/** The owner of a generated claim. */
type ClaimOwner = Pod | PodGroup;

/**
 * Does the work of the claim controller: generates the claims of pods and of their groups from templates, and
 * reserves allocated claims for the pods on a node. Skips ended pods. A pod with missing references waits for
 * them, as in a cluster; its hints have similar names.
 */
export function claimsOfPods(world: World, pods: readonly OriginPod[], features: Features): PodClaims {
  const claims = new Map(world.all("ResourceClaim").map(({ object }) => [nameOf(object), object]));
  const owned = Map.groupBy(claims.values(), (claim) => controllerOf(claim)?.uid);
  const groupsHaveClaims = features.enabled("DRAWorkloadResourceClaims");
  /** The pods of one workload lack the same objects. */
  const missingTexts = new Map<string, string>();

  /** Returns the claim for an entry of the owner; undefined: the template is missing. */
  function madeFor(
    owner: ClaimOwner,
    entry: string,
    template: ResourceClaimTemplate | undefined,
  ): string | undefined {
    const { uid, namespace } = owner.metadata;
    const isMade = ({ metadata }: ResourceClaim): boolean =>
      metadata.annotations?.[podClaimAnnotation] === entry;
    const made = owned.get(uid)?.find(isMade);
    if (made !== undefined || template === undefined) return made?.metadata.name;
    const base = claimNameBase(owner.metadata.name, entry).replace(/-+$/, "");
    let name = base;
    for (let i = 1; claims.has(`${namespace}/${name}`); i++) name = `${base}-${i}`;
    const claim = generated(owner, entry, template, name);
    claims.set(`${namespace}/${name}`, claim);
    owned.set(uid, [...(owned.get(uid) ?? []), claim]);
    return name;
  }

  /** Returns the group with which the pod shares claims. */
  const groupOf = ({ metadata, spec }: Pod): PodGroup | undefined =>
    groupsHaveClaims && spec.schedulingGroup?.podGroupName
      ? world.find("PodGroup", `${metadata.namespace}/${spec.schedulingGroup.podGroupName}`)
      : undefined;

  const prepared = pods
    .filter(({ object }) => !isDone(object))
    .map((each): OriginPod => {
      if (each.refusal !== undefined) return each;
      const { object: pod, path } = each;
      const { namespace } = pod.metadata;
      const groupName = hasPodGroups(features) ? pod.spec.schedulingGroup?.podGroupName : undefined;
      const group = groupName && world.find("PodGroup", `${namespace}/${groupName}`);
      const statuses = [...(pod.status?.resourceClaimStatuses ?? [])];
      const hints = [...(each.hints ?? [])];
      const missing = (
        field: string,
        kind: "ResourceClaim" | "ResourceClaimTemplate" | "PodGroup",
        name: string,
      ): void => {
        const key = `${kind} ${namespace}/${name}`;
        const text = missingTexts.get(key) ?? missingText(world, kind, namespace, name);
        missingTexts.set(key, text);
        hints.push(`${field}: ${text}`);
      };
      if (groupName && !group) missing(`${path}.schedulingGroup.podGroupName`, "PodGroup", groupName);
      (pod.spec.resourceClaims ?? []).forEach((entry, index) => {
        const at = `${path}.resourceClaims[${index}]`;
        if (entry.resourceClaimName !== undefined) {
          if (!claims.has(`${namespace}/${entry.resourceClaimName}`))
            missing(`${at}.resourceClaimName`, "ResourceClaim", entry.resourceClaimName);
          return;
        }
        const templateName = entry.resourceClaimTemplateName;
        if (templateName === undefined) return;
        const status = statuses.find(({ name }) => name === entry.name);
        if (status !== undefined) {
          const name = status.resourceClaimName;
          if (name !== undefined && !claims.has(`${namespace}/${name}`))
            missing(`status.resourceClaimStatuses, ${entry.name}`, "ResourceClaim", name);
          return;
        }
        // Without the group the owner of the claim is unknown.
        if (groupName && !group) return;
        const isOfGroup = group ? isGroupClaim(group, entry) : false;
        if (isOfGroup && !groupsHaveClaims) {
          hints.push(
            `${at}: it is a claim of the pod's group, and feature gate DRAWorkloadResourceClaims is off`,
          );
          return;
        }
        const template = world.find("ResourceClaimTemplate", `${namespace}/${templateName}`);
        const resourceClaimName = madeFor(isOfGroup && group ? group : pod, entry.name, template);
        if (resourceClaimName === undefined) {
          missing(`${at}.resourceClaimTemplateName`, "ResourceClaimTemplate", templateName);
          return;
        }
        statuses.push({ name: entry.name, resourceClaimName });
      });
      const object =
        statuses.length === 0 ? pod : { ...pod, status: { ...pod.status, resourceClaimStatuses: statuses } };
      return { ...each, object, ...(hints.length > 0 && { hints }) };
    });

  reserveForBound(prepared, claims, groupOf);
  return { pods: prepared, claims: [...claims.values()] };
}

/** Reserves the claims of the pods that are on a node. */
function reserveForBound(
  pods: readonly OriginPod[],
  claims: Map<string, ResourceClaim>,
  groupOf: (pod: Pod) => PodGroup | undefined,
): void {
  for (const { object: pod } of pods) {
    if ((pod.spec.nodeName ?? "") === "") continue;
    for (const { name, entry } of createdPodClaims(pod)) {
      const claim = claims.get(`${pod.metadata.namespace}/${name}`);
      if (claim !== undefined) claims.set(nameOf(claim), reserved(claim, pod, entry, groupOf(pod)));
    }
  }
}

function reserved(
  claim: ResourceClaim,
  pod: Pod,
  entry: PodResourceClaim | undefined,
  group: PodGroup | undefined,
): ResourceClaim {
  if (claim.status?.allocation === undefined || isReservedForPod(pod, claim, group !== undefined))
    return claim;
  const reservedFor = [...(claim.status.reservedFor ?? []), consumerOf(pod, group, entry)];
  return { ...claim, status: { ...claim.status, reservedFor } };
}

function generated(
  owner: ClaimOwner,
  entry: string,
  template: ResourceClaimTemplate,
  name: string,
): ResourceClaim {
  const { namespace, creationTimestamp } = owner.metadata;
  const { labels, annotations } = template.spec.metadata ?? {};
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      namespace,
      name,
      uid: uidOf("ResourceClaim", namespace, name),
      resourceVersion: "1",
      creationTimestamp,
      ...(labels && { labels }),
      annotations: { ...annotations, [podClaimAnnotation]: entry },
      ownerReferences: [controllerReference(owner.kind === "PodGroup" ? PodGroup : Pod, owner)],
    },
    spec: template.spec.spec,
  };
}
