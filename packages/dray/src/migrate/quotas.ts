import { type ExtendedResources, isExtendedResource } from "./extended-resources.ts";
import { fieldOf, keyOf, mapOf, setText } from "./nodes.ts";
import type { Site } from "./site.ts";

const prefix = "requests.";

/** Quota of extended resources becomes quota of their classes (`CLASS.deviceclass.resource.k8s.io/devices`, KEP-4381). */
export function migrateQuota(site: Site, resources: ExtendedResources): void {
  if (site.kind !== "ResourceQuota" || site.apiVersion !== "v1") return;
  const hard = mapOf(fieldOf(site.map, "spec", "hard"));
  for (const pair of hard?.items ?? []) {
    const key = keyOf(pair);
    const resource = key.startsWith(prefix) ? key.slice(prefix.length) : key;
    if (!key.startsWith(prefix) || !isExtendedResource(resource)) continue;
    const path = `spec.hard[${key}]`;
    const kind = resources.kindOf(resource);
    if (kind === undefined) {
      site.note(path, resources.whyNot(resource), pair.key);
      continue;
    }
    const name = `${kind.deviceClass}.deviceclass.resource.k8s.io/devices`;
    if (kind.selector !== undefined || fieldOf(hard, name) !== undefined) {
      const why = `quota counts all devices of class ${kind.deviceClass}, whatever their kind`;
      site.note(path, `stays, and limits nothing that claims take: ${why} (${name})`, pair.key);
      continue;
    }
    setText(pair.key, name);
    site.changed = true;
  }
}
