import type { Features } from "@dray/api";

/**
 * Whether devices that represent or consume resources of the node are counted (KEP-5517): the scheduler
 * writes none before 1.37.
 */
export function countsClaims(features: Features): boolean {
  return features.version >= "1.37" && features.enabled("DRANodeAllocatableResources");
}

/**
 * Features that the node declares in this release. Upstream: k8s.io/component-helpers/nodedeclaredfeatures.
 */
export function declaredFeatures(features: Features): readonly string[] {
  if (!features.enabled("NodeDeclaredFeatures")) return [];
  return [
    ...(countsClaims(features) ? ["DRANodeAllocatableResources"] : []),
    ...(features.enabled("DRAOptionalNodeOperations") ? ["DRAOptionalNodeOperations"] : []),
    // On since 1.36; the scheduler keeps pods with such rules off nodes that do not declare it.
    ...(features.version >= "1.36" ? ["RestartAllContainersOnContainerExits"] : []),
  ];
}
