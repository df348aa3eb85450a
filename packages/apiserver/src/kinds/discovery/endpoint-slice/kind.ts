import { EndpointSlice } from "@dray/api/discovery/v1";
import { defineServedKind } from "../../define.ts";
import { endpointSliceColumns } from "./columns.ts";
import { endpointSliceStrategy } from "./strategy.ts";

export const endpointSlice = defineServedKind(EndpointSlice, {
  facts: { generation: "labelled" },
  strategy: endpointSliceStrategy,
  columns: endpointSliceColumns,
});
