import type { ResourceClaim } from "@dray/api/resource/v1";

/** `namespace/name`; of a claim without a namespace the name alone, as klog.KObj prints it. */
export function claimName({ metadata: { namespace, name } }: ResourceClaim): string {
  return namespace ? `${namespace}/${name}` : name;
}
