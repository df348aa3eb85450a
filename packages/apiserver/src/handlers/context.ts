import { quoted, StatusError } from "@dray/api";
import type { ApiRequest, Clock, Log, UserInfo } from "@dray/client";
import type { Authenticator } from "../authentication/authenticate.ts";
import type { ServiceAccountTokens } from "../authentication/service-account.ts";
import type { Attributes, Decision } from "../authorization/attributes.ts";
import type { Rbac } from "../authorization/rbac.ts";
import type { KubeletClient } from "../kubelet.ts";
import type { ServedResource } from "../registry/kinds.ts";
import type { Registry } from "../registry/registry.ts";
import { notAcceptable } from "../representation.ts";
import { type Accepted, type Forms, negotiate } from "../request/accept.ts";
import type { RequestInfo } from "../request/info.ts";
import { genericError } from "../response.ts";
import type { TableOptions } from "../table.ts";

/** A request on its way through the handlers: who wants what. */
export interface Context {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly served: ServedResource;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Log;
  readonly authorize: (attributes: Attributes) => Decision;
  readonly rbac: Rbac;
  readonly tokens: ServiceAccountTokens;
  readonly authenticator: Authenticator;
  /** All that is served, by `group/version/resource`. */
  readonly resources: ReadonlyMap<string, ServedResource>;
  readonly kubelet?: KubeletClient;
  /** Texts of Warning headers; handlers add to it. */
  readonly warnings: string[];
}

const endpointTypes = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
const streamTypes = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/** What the client accepts. Throws 406 in the two wordings of Kubernetes. */
export function accepted(
  context: Pick<Context, "request">,
  forms: Forms,
  options: { readonly collection?: boolean; readonly stream?: boolean } = {},
): Accepted {
  const answer = negotiate(context.request.headers["accept"], forms, options);
  if (!("unknownType" in answer)) return answer;
  if (answer.unknownType) {
    const types = options.collection || options.stream ? `${endpointTypes}, ${streamTypes}` : endpointTypes;
    throw genericError("NotAcceptable", `406: Not Acceptable\n\nAvailable representations: ${types}`);
  }
  throw notAcceptable(
    `only the following media types are accepted: ${options.stream ? streamTypes : endpointTypes}`,
  );
}

/** The headers that every answer of a resource has. */
export function headersOf(context: Pick<Context, "warnings">): Record<string, string | readonly string[]> {
  if (context.warnings.length === 0) return {};
  return { warning: context.warnings.map(warningHeader) };
}

/** `299 - "text"` (RFC 9111): quotes and backslashes escaped, no control characters. */
export function warningHeader(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get into a header.
  const safe = text.replace(/[\u0000-\u001f\u007f]/g, "").replace(/(["\\])/g, "\\$1");
  return `299 - "${safe}"`;
}

export function tableOptions(context: Context): TableOptions {
  const include = context.info.query.get("includeObject") ?? "";
  const now = context.clock.now();
  switch (include) {
    case "None":
    case "Object":
    case "Metadata":
      return { includeObject: include, now };
    case "":
      return { now };
    default:
      throw StatusError.of(
        "BadRequest",
        `Unable to convert to Table as requested: includeObject: Invalid value: ${quoted(include)}: must be 'Metadata', 'Object', 'None', or empty`,
      );
  }
}
