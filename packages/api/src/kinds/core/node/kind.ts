import { networkWarnings } from "../../../checks/address.ts";
import { Node } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultNode } from "./defaults.ts";
import { nodeValidation } from "./validation.ts";

export const node = defineKind(Node, {
  defaults: defaultNode,
  validation: nodeValidation,
  warnings: ({ spec }) => [
    ...(spec?.configSource ? ["spec.configSource: the feature is removed"] : []),
    ...(spec?.externalID ? ["spec.externalID: this field is deprecated, and is unused by Kubernetes"] : []),
    ...(spec?.podCIDRs ?? []).flatMap((network, index) =>
      networkWarnings(`spec.podCIDRs[${index}]`, network),
    ),
  ],
});
