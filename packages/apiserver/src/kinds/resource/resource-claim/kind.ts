import { ResourceClaim } from "@dray/api/resource/v1";
import { defineServedKind } from "../../define.ts";
import { convertClaim } from "../v1beta1.ts";
import { resourceClaimColumns } from "./columns.ts";
import { resourceClaimStrategy } from "./strategy.ts";

export const resourceClaim = defineServedKind(ResourceClaim, {
  facts: {
    status: "reset",
    answersDeleted: true,
    deprecated: { v1beta2: { since: "1.36", gone: "1.39" }, v1beta1: { since: "1.35", gone: "1.38" } },
  },
  strategy: resourceClaimStrategy,
  columns: resourceClaimColumns,
  convert: convertClaim,
});
