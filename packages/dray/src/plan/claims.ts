import type { Pod, PodResourceClaim } from "@dray/api/core/v1";
import { Pod as PodKind } from "@dray/api/core/v1";
import type { ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import {
  claimNameBase,
  controllerOf,
  controllerReference,
  isDone,
  podClaimAnnotation,
} from "@dray/controllers/objects";
import { uidOf } from "../manifests/decode.ts";
import { missingText } from "../manifests/missing.ts";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import type { OriginPod } from "./workloads.ts";

export interface PodClaims {
  /** The pods, with the names of the claims that were made for them in their status. */
  readonly pods: readonly OriginPod[];
  /** All claims: those that were given, with the running pods that use them, and those that were made. */
  readonly claims: readonly ResourceClaim[];
}

/**
 * Does what the claim controller does: makes the claims of pods that name templates, and reserves claims with an
 * allocation for the pods that are on a node. Pods that have ended are left out. A pod that names what is missing waits
 * for it, as in a cluster; its hints say what there is.
 */
export function claimsOfPods(world: World, pods: readonly OriginPod[]): PodClaims {
  const claims = new Map(world.all("ResourceClaim").map(({ object }) => [nameOf(object), object]));
  const owned = Map.groupBy(claims.values(), (claim) => controllerOf(claim)?.uid);
  /** Pods of one workload lack the same. */
  const missingTexts = new Map<string, string>();

  function generate(pod: Pod, entry: PodResourceClaim, template: ResourceClaimTemplate): string {
    const { namespace } = pod.metadata;
    const base = claimNameBase(pod.metadata.name, entry.name).replace(/-+$/, "");
    let name = base;
    for (let i = 1; claims.has(`${namespace}/${name}`); i++) name = `${base}-${i}`;
    const { labels, annotations } = template.spec.metadata ?? {};
    claims.set(`${namespace}/${name}`, {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: {
        namespace,
        name,
        uid: uidOf("ResourceClaim", namespace, name),
        resourceVersion: "1",
        creationTimestamp: pod.metadata.creationTimestamp,
        ...(labels && { labels }),
        annotations: { ...annotations, [podClaimAnnotation]: entry.name },
        ownerReferences: [controllerReference(PodKind, pod)],
      },
      spec: template.spec.spec,
    });
    return name;
  }

  const prepared = pods
    .filter(({ object }) => !isDone(object))
    .map((each): OriginPod => {
      if (each.refusal !== undefined) return each;
      const { object: pod, path } = each;
      const { namespace } = pod.metadata;
      const statuses = [...(pod.status?.resourceClaimStatuses ?? [])];
      const hints = [...(each.hints ?? [])];
      (pod.spec.resourceClaims ?? []).forEach((entry, index) => {
        const missing = (
          field: string,
          kind: "ResourceClaim" | "ResourceClaimTemplate",
          name: string,
        ): void => {
          const key = `${kind} ${namespace}/${name}`;
          const text = missingTexts.get(key) ?? missingText(world, kind, namespace, name);
          missingTexts.set(key, text);
          hints.push(`${field}: ${text}`);
        };
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
        const made = owned
          .get(pod.metadata.uid)
          ?.find(({ metadata }) => metadata.annotations?.[podClaimAnnotation] === entry.name);
        const template = world.find("ResourceClaimTemplate", `${namespace}/${templateName}`);
        if (made === undefined && template === undefined) {
          missing(`${at}.resourceClaimTemplateName`, "ResourceClaimTemplate", templateName);
          return;
        }
        const resourceClaimName = made?.metadata.name ?? generate(pod, entry, template!);
        statuses.push({ name: entry.name, resourceClaimName });
      });
      const object =
        statuses.length === 0 ? pod : { ...pod, status: { ...pod.status, resourceClaimStatuses: statuses } };
      return { ...each, object, ...(hints.length > 0 && { hints }) };
    });

  for (const { object: pod } of prepared) {
    if ((pod.spec.nodeName ?? "") === "") continue;
    for (const { claim: name } of claimNames(pod)) {
      const claim = claims.get(`${pod.metadata.namespace}/${name}`);
      if (claim !== undefined) claims.set(nameOf(claim), reserved(claim, pod));
    }
  }
  return { pods: prepared, claims: [...claims.values()] };
}

/** The claims of a pod that needs them: the pod's own name for each, and the object's. */
export function claimNames(pod: Pod): { readonly entry: string; readonly claim: string }[] {
  return (pod.spec.resourceClaims ?? []).flatMap((entry) => {
    const made = pod.status?.resourceClaimStatuses?.find(({ name }) => name === entry.name);
    const claim = entry.resourceClaimName ?? made?.resourceClaimName;
    return claim === undefined ? [] : [{ entry: entry.name, claim }];
  });
}

function reserved(claim: ResourceClaim, pod: Pod): ResourceClaim {
  const reservedFor = claim.status?.reservedFor ?? [];
  const there = reservedFor.some(({ uid }) => uid === pod.metadata.uid);
  if (claim.status?.allocation === undefined || there) return claim;
  const consumer = { resource: "pods", name: pod.metadata.name, uid: pod.metadata.uid };
  return { ...claim, status: { ...claim.status, reservedFor: [...reservedFor, consumer] } };
}
