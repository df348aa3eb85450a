import type { ResourceQuota } from "../../../generated/core/v1.ts";
import { roundResources } from "../pod/defaults.ts";

export function defaultResourceQuota(quota: ResourceQuota): void {
  roundResources(quota.spec?.hard);
  roundResources(quota.status?.hard);
  roundResources(quota.status?.used);
}
