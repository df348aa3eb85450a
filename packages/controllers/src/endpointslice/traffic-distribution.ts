import { isDeepStrictEqual } from "node:util";
import type { Service } from "@dray/api/core/v1";
import type { Endpoint, EndpointHints } from "@dray/api/discovery/v1";

/** Values of `trafficDistribution`. */
const preferences = ["PreferClose", "PreferSameZone", "PreferSameNode"];

/**
 * Returns the endpoint with the hints that the Service's `trafficDistribution` asks for: its own zone, and
 * its own node. Endpoints that are not ready keep theirs.
 *
 * Upstream: k8s.io/endpointslice/trafficdist/trafficdist.go (KEP-4444, KEP-3015).
 */
export function withHints(endpoint: Endpoint, { spec }: Service): Endpoint {
  const { trafficDistribution = "" } = spec;
  const close = preferences.includes(trafficDistribution);
  if (close && endpoint.conditions?.ready !== true) return endpoint;
  const { hints: old, ...rest } = endpoint;
  const { zone, nodeName } = endpoint;
  const hints: EndpointHints = {
    ...(zone === undefined ? {} : { forZones: [{ name: zone }] }),
    ...(nodeName === undefined || trafficDistribution !== "PreferSameNode"
      ? {}
      : { forNodes: [{ name: nodeName }] }),
  };
  if (!close || Object.keys(hints).length === 0) return old === undefined ? endpoint : rest;
  return isDeepStrictEqual(old, hints) ? endpoint : { ...rest, hints };
}
