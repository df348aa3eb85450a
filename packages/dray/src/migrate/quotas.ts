import { type ExtendedResources, isExtendedResource } from "./extended-resources.ts";
import type { Manifest } from "./manifest.ts";
import { fieldOf, keyOf, mapOf, setText } from "./nodes.ts";

const prefix = "requests.";

/**
 * Converts quota of extended resources to quota of their classes
 * (`CLASS.deviceclass.resource.k8s.io/devices`, KEP-4381).
 */
export function migrateQuota(manifest: Manifest, resources: ExtendedResources): void {
  if (manifest.kind !== "ResourceQuota" || manifest.apiVersion !== "v1") return;
  const hard = mapOf(fieldOf(manifest.map, "spec", "hard"));
  for (const pair of hard?.items ?? []) {
    const key = keyOf(pair);
    const resource = key.startsWith(prefix) ? key.slice(prefix.length) : key;
    if (!key.startsWith(prefix) || !isExtendedResource(resource)) continue;
    const path = `spec.hard[${key}]`;
    const kind = resources.kindOf(resource);
    if (kind === undefined) {
      manifest.note(path, resources.reasonToKeep(resource), pair.key);
      continue;
    }
    const name = `${kind.deviceClass}.deviceclass.resource.k8s.io/devices`;
    if (kind.selector !== undefined || fieldOf(hard, name) !== undefined) {
      const why = `quota counts all devices of class ${kind.deviceClass}, whatever their kind`;
      manifest.note(path, `stays, and limits nothing that claims take: ${why} (${name})`, pair.key);
      continue;
    }
    setText(pair.key, name);
    manifest.changed = true;
  }
}
