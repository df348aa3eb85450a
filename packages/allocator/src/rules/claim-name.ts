import type { ResourceClaim } from "@dray/api/resource/v1";

/** Returns `namespace/name`, without a namespace the name alone. Upstream: klog.KObj. */
export function claimName({ metadata: { namespace, name } }: ResourceClaim): string {
  return namespace ? `${namespace}/${name}` : name;
}
