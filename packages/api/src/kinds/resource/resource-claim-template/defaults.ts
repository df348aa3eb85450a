import type { ResourceClaimTemplate } from "../../../generated/resource/v1.ts";
import type { ResourceClaimTemplate as OldResourceClaimTemplate } from "../../../generated/resource/v1beta1.ts";
import type { Wire } from "../../../objects/wire.ts";
import { defaultOldSpec, defaultSpec } from "../resource-claim/defaults.ts";

export function defaultTemplate(template: Wire<ResourceClaimTemplate>): void {
  defaultSpec(template.spec?.spec);
}

export function defaultOldTemplate(template: Wire<OldResourceClaimTemplate>): void {
  defaultOldSpec(template.spec?.spec);
}
