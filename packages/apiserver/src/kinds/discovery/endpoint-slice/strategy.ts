import type { EndpointSlice } from "@dray/api/discovery/v1";
import { deepEqual } from "../../../storage/json.ts";
import type { Strategy } from "../../strategy.ts";

/** A field of an older version, which this one only keeps where nothing about the endpoints changes. */
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
