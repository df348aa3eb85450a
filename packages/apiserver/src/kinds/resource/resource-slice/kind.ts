import { ResourceSlice } from "@dray/api/resource/v1";
import { defineServedKind } from "../../define.ts";
import { convertSlice } from "../v1beta1.ts";
import { resourceSliceColumns } from "./columns.ts";

export const resourceSlice = defineServedKind(ResourceSlice, {
  facts: {
    generation: "sent",
    answersDeleted: true,
    fields: ["spec.nodeName", "spec.driver"],
    fieldsSince: { "1.37": ["spec.pool.name"] },
    fieldError: "kind",
    noNamespaceField: true,
    deprecated: { v1beta2: { since: "1.36", gone: "1.39" }, v1beta1: { since: "1.35", gone: "1.38" } },
  },
  columns: resourceSliceColumns,
  convert: convertSlice,
});
