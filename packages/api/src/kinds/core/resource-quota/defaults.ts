import type { ResourceQuota } from "../../../generated/core/v1.ts";
import type { Wire } from "../../../objects/wire.ts";
import { roundResources } from "../pod/defaults.ts";

export function defaultResourceQuota(quota: Wire<ResourceQuota>): void {
  roundResources(quota.spec?.hard);
  roundResources(quota.status?.hard);
  roundResources(quota.status?.used);
}
