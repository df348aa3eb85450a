import type { Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { isGroupClaim } from "@dray/controllers/objects";
import { extendedClaimOf } from "@dray/scheduler";
import { missingText } from "../manifests/missing.ts";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";

/** Equal claims that exist at the same time. */
export interface Claims {
  /** `ResourceClaim ns/name`, `ResourceClaimTemplate ns/name` or `extended resources of ns/pod`. */
  readonly label: string;
  /** One of them. */
  readonly claim: ResourceClaim;
  /** Keys of the claims: pods that share one name the same. */
  readonly instances: ReadonlySet<string>;
}

export interface ClaimsOfPods {
  readonly claims: readonly Claims[];
  /** Missing objects, each once. */
  readonly missing: readonly string[];
}

/**
 * Collects the claims of pods. A claim that several pods name exists once, one of a template for each pod, or
 * for each PodGroup if it is a claim of the group (KEP-5729); extended resources that devices serve are a
 * claim of each pod (KEP-5004).
 */
export function claimsOf(
  world: World,
  pods: readonly Pod[],
  groups: readonly PodGroup[],
  features: Features,
): ClaimsOfPods {
  const found = new Map<string, { claim: ResourceClaim; instances: Set<string> }>();
  const missing = new Set<string>();
  const groupsHaveClaims = features.enabled("DRAWorkloadResourceClaims");
  const put = (label: string, claim: ResourceClaim, instance: string): void => {
    const known = found.get(label) ?? { claim, instances: new Set() };
    known.instances.add(instance);
    found.set(label, known);
  };
  const putNamed = (namespace: string, name: string): void => {
    const claim = world.find("ResourceClaim", `${namespace}/${name}`);
    if (claim === undefined) missing.add(missingText(world, "ResourceClaim", namespace, name));
    else put(`ResourceClaim ${nameOf(claim)}`, claim, nameOf(claim));
  };
  const putGenerated = (namespace: string, name: string, instance: string): void => {
    const template = world.find("ResourceClaimTemplate", `${namespace}/${name}`);
    if (template === undefined) missing.add(missingText(world, "ResourceClaimTemplate", namespace, name));
    else {
      const claim = { ...template, kind: "ResourceClaim", spec: template.spec.spec } as ResourceClaim;
      put(`ResourceClaimTemplate ${nameOf(template)}`, claim, instance);
    }
  };
  const classes = world.all("DeviceClass").map(({ object }) => object);
  const groupOf = ({ metadata: { namespace }, spec }: Pod): PodGroup | undefined => {
    const name = groupsHaveClaims ? spec.schedulingGroup?.podGroupName : undefined;
    return name ? world.find("PodGroup", `${namespace}/${name}`) : undefined;
  };
  for (const pod of pods) {
    const { namespace } = pod.metadata;
    const group = groupOf(pod);
    for (const entry of pod.spec.resourceClaims ?? []) {
      const isOfGroup = group !== undefined && isGroupClaim(group, entry);
      const owner = isOfGroup ? `PodGroup ${nameOf(group)}` : `Pod ${nameOf(pod)}`;
      if (entry.resourceClaimName !== undefined) putNamed(namespace, entry.resourceClaimName);
      else if (entry.resourceClaimTemplateName !== undefined)
        putGenerated(namespace, entry.resourceClaimTemplateName, `${owner} ${entry.name}`);
    }
    const extended = features.enabled("DRAExtendedResource") ? extendedClaimOf(pod, classes, "") : undefined;
    if (extended !== undefined) {
      const key = JSON.stringify(extended.spec);
      put(`extended resources ${key}`, extended, `Pod ${nameOf(pod)} `);
    }
  }
  for (const group of groupsHaveClaims ? groups : []) {
    const { namespace } = group.metadata;
    for (const { name, resourceClaimName, resourceClaimTemplateName } of group.spec.resourceClaims ?? []) {
      if (resourceClaimName !== undefined) putNamed(namespace, resourceClaimName);
      else if (resourceClaimTemplateName !== undefined)
        putGenerated(namespace, resourceClaimTemplateName, `PodGroup ${nameOf(group)} ${name}`);
    }
  }
  return { claims: [...found].map(([label, each]) => ({ label, ...each })), missing: [...missing] };
}
