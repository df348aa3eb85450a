import type { ResourceClaimTemplate } from "../../../generated/resource/v1.ts";
import type { ResourceClaimTemplate as OldResourceClaimTemplate } from "../../../generated/resource/v1beta1.ts";
import { defaultOldSpec, defaultSpec } from "../resource-claim/defaults.ts";

export function defaultTemplate(template: ResourceClaimTemplate): void {
  defaultSpec(template.spec?.spec);
}

export function defaultOldTemplate(template: OldResourceClaimTemplate): void {
  defaultOldSpec(template.spec?.spec);
}
