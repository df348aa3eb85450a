import { type ExtendedResources, isExtendedResource } from "./extended-resources.ts";
import type { Manifest } from "./manifest.ts";
import { fieldOf, itemsOf, keyOf, mapOf } from "./nodes.ts";

/** Fields of core/v1 LimitRangeItem that the LimitRanger writes into containers. */
const defaults = ["default", "defaultRequest"];
const bounds = ["max", "min", "maxLimitRequestRatio"];

/**
 * Notes what a LimitRange says of extended resources that become claims: it bounds requests of containers,
 * which claims are not (core/v1 LimitRangeItem), and its defaults would ask for the resource beside the
 * claim.
 */
export function noteLimitRange(manifest: Manifest, resources: ExtendedResources): void {
  if (manifest.kind !== "LimitRange" || manifest.apiVersion !== "v1") return;
  itemsOf(fieldOf(manifest.map, "spec", "limits")).forEach((limit, index) => {
    for (const field of [...bounds, ...defaults])
      for (const pair of mapOf(fieldOf(mapOf(limit), field))?.items ?? []) {
        const resource = keyOf(pair);
        const kind = isExtendedResource(resource) ? resources.kindOf(resource) : undefined;
        if (kind === undefined) continue;
        const why = defaults.includes(field)
          ? `remove it: it adds ${resource} to containers that have a claim for class ${kind.deviceClass} now`
          : `stays, and limits nothing that claims take: a ResourceQuota counts devices of a class (${kind.deviceClass}.deviceclass.resource.k8s.io/devices)`;
        manifest.note(`spec.limits[${index}].${field}[${resource}]`, why, pair.key);
      }
  });
}
