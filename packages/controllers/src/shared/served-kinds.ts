import { apiVersionOf, type Kind, type KubeObject } from "@dray/api";
import { DeviceTaintRule } from "@dray/api/resource/v1";
import { DeviceTaintRule as AlphaDeviceTaintRule } from "@dray/api/resource/v1alpha3";
import { DeviceTaintRule as BetaDeviceTaintRule } from "@dray/api/resource/v1beta2";
import { PodGroup as Alpha2PodGroup } from "@dray/api/scheduling/v1alpha2";
import { PodGroup as Alpha3PodGroup } from "@dray/api/scheduling/v1alpha3";
import { PodGroup } from "@dray/api/scheduling/v1beta1";
import type { ControllerContext } from "./context.ts";
import type { ServedResources } from "./served-resources.ts";

/** The versions of a kind whose objects have the same shape, newest first; they are read as the newest. */
const taintRules = [
  DeviceTaintRule,
  BetaDeviceTaintRule,
  AlphaDeviceTaintRule,
] as readonly Kind<DeviceTaintRule>[];
const podGroups = [PodGroup, Alpha3PodGroup, Alpha2PodGroup] as readonly Kind<PodGroup>[];

/** The rules as the server has them; undefined if it has none, or the gate is off. */
export function servedTaintRules(
  context: ControllerContext,
  served: ServedResources,
): Kind<DeviceTaintRule> | undefined {
  if (!context.features.enabled("DRADeviceTaintRules")) return undefined;
  return newestServed(context, served, taintRules, "DeviceTaintRules are ignored");
}

/** The groups of pods as the server has them; undefined if it has none, or the gate is off. */
export function servedPodGroups(
  context: ControllerContext,
  served: ServedResources,
): Kind<PodGroup> | undefined {
  // 1.35 has Workloads in their place.
  if (!context.features.enabled("GenericWorkload") || context.features.version < "1.36") return undefined;
  return newestServed(context, served, podGroups, "PodGroups are ignored");
}

/**
 * The newest version that the server has. A gate whose API is switched off is worth a warning: nothing would
 * happen.
 */
function newestServed<T extends DeviceTaintRule | PodGroup>(
  { log }: ControllerContext,
  served: ServedResources,
  versions: readonly Kind<T>[],
  consequence: string,
): Kind<T> | undefined {
  const found = versions.find((kind) => served.find(apiVersionOf(kind), kind.kind) !== undefined);
  if (found === undefined) {
    const wanted = versions.map(apiVersionOf).join(", ");
    log.warn(
      { versions: wanted },
      `${consequence}: the feature gate is on, but the API server serves none of the versions (--runtime-config)`,
    );
  }
  return found;
}

/** Returns the kind in the version that the server prefers; undefined if the server does not serve it. */
export function servedKind<T extends KubeObject>(
  { list }: Pick<ServedResources, "list">,
  group: string,
  resource: string,
): Kind<T> | undefined {
  const found = list.find(({ kind }) => kind.group === group && kind.resource === resource);
  return found?.kind as Kind<T> | undefined;
}
