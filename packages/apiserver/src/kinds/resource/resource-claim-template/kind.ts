import { ResourceClaimTemplate } from "@dray/api/resource/v1";
import { defineServedKind } from "../../define.ts";
import { convertClaimTemplate } from "../v1beta1.ts";

export const resourceClaimTemplate = defineServedKind(ResourceClaimTemplate, {
  facts: {
    answersDeleted: true,
    deprecated: { v1beta2: { since: "1.36", gone: "1.39" }, v1beta1: { since: "1.35", gone: "1.38" } },
  },
  convert: convertClaimTemplate,
});
