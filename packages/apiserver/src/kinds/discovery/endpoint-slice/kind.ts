import { EndpointSlice } from "@dray/api/discovery/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { endpointSliceColumns } from "./columns.ts";
import { endpointSliceStrategy } from "./strategy.ts";

export const endpointSlice: ServedKind<EndpointSlice> = defineServedKind(EndpointSlice, {
  facts: { generation: "labelled" },
  strategy: endpointSliceStrategy,
  columns: endpointSliceColumns,
});
