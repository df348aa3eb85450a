import type { EndpointSlice } from "@dray/api/discovery/v1";
import { deepEqual } from "../../../storage/json.ts";
import type { Strategy } from "../../strategy.ts";

/** Field of an older version, which is kept only while the endpoints do not change. */
function dropTopology(slice: EndpointSlice, old: EndpointSlice | undefined): void {
  if (old !== undefined && deepEqual(old.endpoints ?? [], slice.endpoints ?? [])) return;
  for (const endpoint of slice.endpoints ?? []) delete endpoint.deprecatedTopology;
}

export const endpointSliceStrategy: Strategy<EndpointSlice> = {
  prepareForCreate(object) {
    dropTopology(object, undefined);
  },
  prepareForUpdate(object, old) {
    dropTopology(object, old);
  },
};
