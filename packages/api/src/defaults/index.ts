/** Defaults that the API server sets in fields that a client left out (`setDefaults`). */
import { newestKubernetesVersion } from "../features/features.ts";
import { kindDefinition } from "../kinds/registry.ts";
import type { KubeObject, Time } from "../objects/object.ts";
import { kindOf, structType } from "../schema/types.ts";
import { setConstantDefaults } from "./constants.ts";

export { podQosClass } from "../pod/qos.ts";

/**
 * Fills in the defaults of a decoded object of that version, in place, in fields that are unset. `now` is the
 * server's time, for the fields that default to it (the `timeAdded` of device taints); `release` is the
 * release whose defaults apply, the newest if absent. Fields that strategies and admission set (phase of a
 * pod, priority, default tolerations, cluster addresses) are left alone.
 */
export function setDefaults(
  group: string,
  version: string,
  kind: string,
  object: KubeObject,
  now: Time,
  release: string = newestKubernetesVersion,
): void {
  const { defaults, versionDefaults } = kindDefinition({ group, kind }) ?? {};
  (versionDefaults?.[version] ?? defaults)?.(object, now, release);
  // After those: no function of a kind reads a field that has a constant default.
  const type = kindOf(group, version, kind)?.type;
  if (type !== undefined) setConstantDefaults(structType(type), object, release);
}
