import { Endpoints } from "@dray/api/core/v1";
import { defineServedKind } from "../../define.ts";
import { endpointsColumns } from "./columns.ts";

export const endpoints = defineServedKind(Endpoints, {
  facts: {
    createOnUpdate: true,
    deprecated: { v1: { since: "1.33", instead: "discovery.k8s.io/v1 EndpointSlice" } },
  },
  columns: endpointsColumns,
});
