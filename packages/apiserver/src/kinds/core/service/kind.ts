import { Service } from "@dray/api/core/v1";
import { defineServedKind } from "../../define.ts";
import { serviceColumns } from "./columns.ts";
import { serviceStrategy } from "./strategy.ts";

export const service = defineServedKind(Service, {
  facts: {
    status: "keep",
    createOnUpdate: true,
    answersDeleted: true,
    fields: ["spec.clusterIP", "spec.type"],
    fieldError: "core",
    subresources: {
      proxy: { kind: "ServiceProxyOptions", verbs: ["create", "delete", "get", "patch", "update"] },
    },
  },
  strategyOf: ({ serviceAllocator }) => serviceStrategy(serviceAllocator),
  columns: serviceColumns,
});
