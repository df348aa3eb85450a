import type { EndpointSlice } from "@dray/api/discovery/v1";
import type { Strategy } from "../kinds/strategy.ts";
import { deepEqual } from "../storage/json.ts";

/** A field of an older version, which this one only keeps where nothing about the endpoints changes. */
function dropTopology(slice: EndpointSlice, old: EndpointSlice | undefined): void {
  if (old !== undefined && deepEqual(old.endpoints ?? [], slice.endpoints ?? [])) return;
  for (const endpoint of slice.endpoints ?? []) delete endpoint.deprecatedTopology;
}

export const endpointslices: Strategy = {
  prepareForCreate(object) {
    dropTopology(object as EndpointSlice, undefined);
  },
  prepareForUpdate(object, old) {
    dropTopology(object as EndpointSlice, old as EndpointSlice);
  },
};
