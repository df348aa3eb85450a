import { Node } from "@dray/api/core/v1";
import { defineServedKind } from "../../define.ts";
import { nodeColumns } from "./columns.ts";
import { nodeStrategy } from "./strategy.ts";

export const node = defineServedKind(Node, {
  facts: {
    status: "keep",
    bringsStatus: true,
    fields: ["spec.unschedulable"],
    fieldError: "core",
    subresources: {
      proxy: { kind: "NodeProxyOptions", verbs: ["create", "delete", "get", "patch", "update"] },
    },
  },
  strategy: nodeStrategy,
  columns: nodeColumns,
});
