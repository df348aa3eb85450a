/** Defaults that the API server sets in fields that a client left out (`setDefaults`). */
import { newestKubernetesVersion } from "../features/features.ts";
import type { DefaultsContext as KindContext } from "../kinds/define.ts";
import { type GroupKind, kindDefinition } from "../kinds/registry.ts";
import type { KubeObject } from "../objects/object.ts";
import type { Wire } from "../objects/wire.ts";
import { kindOf, structType } from "../schema/types.ts";
import { setConstantDefaults } from "./constants.ts";

export { podQosClass } from "../pod/qos.ts";

/** Input of defaults besides the object. The release is the newest if absent. */
export type DefaultsContext = Omit<KindContext, "release"> & Partial<Pick<KindContext, "release">>;

/**
 * Fills in the defaults of a decoded object of that version, in place, in fields that are unset. Fields that
 * strategies and admission set (phase of a pod, priority, default tolerations, cluster addresses) are left
 * alone.
 */
export function setDefaults(
  kind: GroupKind & { readonly version: string },
  object: Wire<KubeObject>,
  context: DefaultsContext,
): void {
  const release = context.release ?? newestKubernetesVersion;
  const { defaults, versionDefaults } = kindDefinition(kind) ?? {};
  const setFields = versionDefaults?.[kind.version] ?? defaults;
  setFields?.(object, { ...context, release });
  // After those: no function of a kind reads a field that has a constant default.
  const type = kindOf(kind.group, kind.version, kind.kind)?.type;
  if (type !== undefined) setConstantDefaults(structType(type), object, release, context.provenance);
}
