import type { ApiRequest } from "@dray/client";
import type { ServedResource } from "../kinds/resources.ts";
import { type Accepted, endpointTypes, type Forms, negotiate, streamTypes } from "../request/accept.ts";
import type { RequestInfo } from "../request/info.ts";
import { metadataForms, notAcceptable } from "./representation.ts";

/** Subresources for which upstream has no Table, and resources for whose `status` it has none. */
const withoutTable = new Set([
  "approval",
  "binding",
  "ephemeralcontainers",
  "eviction",
  "finalize",
  "resize",
  "token",
]);
const statusWithoutTable = new Set([
  "compositepodgroups",
  "customresourcedefinitions",
  "devicetaintrules",
  "podgroups",
  "resourceclaims",
  "resourcepoolstatusrequests",
]);

function hasTable(info: RequestInfo, served: ServedResource): boolean {
  if (served.facts.createOnly || withoutTable.has(info.subresource)) return false;
  return info.subresource !== "status" || !statusWithoutTable.has(served.resource);
}

/** A request and its resource, if any. */
interface RequestedEncoding {
  readonly request: ApiRequest;
  readonly info?: RequestInfo;
  readonly served?: ServedResource;
}

/**
 * Returns the encoding of the response, or with `stream` of the watch, that the client accepts. Throws 406.
 */
export function accepted(
  { request, info, served }: RequestedEncoding,
  forms: Forms,
  stream = false,
): Accepted {
  const tables = info === undefined || served === undefined || hasTable(info, served);
  // Objects without a built-in schema are encoded in protobuf only when converted to another kind.
  const protobuf = served?.facts.schemaless !== true || info?.subresource === "scale";
  const answer = negotiate(request, tables ? forms : metadataForms, protobuf);
  if (answer === undefined || (stream && answer.mediaType === "application/yaml")) {
    const types = answer === undefined ? endpointTypes : streamTypes;
    throw notAcceptable(`only the following media types are accepted: ${types}`);
  }
  return answer;
}
