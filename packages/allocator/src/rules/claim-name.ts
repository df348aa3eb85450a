import type { ResourceClaim } from "@dray/api/resource/v1";

/** Returns `namespace/name`, or the name alone if there is no namespace. Upstream: klog.KObj. */
export function claimName({ metadata: { namespace, name } }: ResourceClaim): string {
  return namespace ? `${namespace}/${name}` : name;
}
