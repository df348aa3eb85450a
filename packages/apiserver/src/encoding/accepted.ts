import type { ApiRequest } from "@dray/client";
import type { ServedResource } from "../kinds/resources.ts";
import { type Accepted, endpointTypes, type Forms, negotiate, streamTypes } from "../request/accept.ts";
import type { RequestInfo } from "../request/info.ts";
import { metadataForms, notAcceptable } from "./representation.ts";

/** Subresources that upstream shows in no Table, and resources whose `status` it does not. */
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

/** A request and the resource that it is about, if any. */
interface Asked {
  readonly request: ApiRequest;
  readonly info?: RequestInfo;
  readonly served?: ServedResource;
}

/** What the client accepts of an answer, or with `stream` of a watch. Throws 406. */
export function accepted({ request, info, served }: Asked, forms: Forms, stream = false): Accepted {
  const tables = info === undefined || served === undefined || hasTable(info, served);
  // Objects without a schema of the server's own are written in protobuf only where the answer is made into another form.
  const protobuf = served?.facts.schemaless !== true || info?.subresource === "scale";
  const answer = negotiate(request, tables ? forms : metadataForms, protobuf);
  if (answer === undefined || (stream && answer.mediaType === "application/yaml")) {
    const types = answer === undefined ? endpointTypes : streamTypes;
    throw notAcceptable(`only the following media types are accepted: ${types}`);
  }
  return answer;
}
