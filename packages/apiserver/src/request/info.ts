import {
  parseFieldSelector,
  parseLabelSelector,
  pathSegment,
  quoted,
  SelectorError,
  StatusError,
} from "@dray/api";
import { integerOption } from "./values.ts";

/** A parsed request: method and path in RBAC's terms. */
export interface RequestInfo {
  readonly isResource: boolean;
  /** `get`, `list`, ...; for non-resource paths the method in lower case. */
  readonly verb: string;
  readonly path: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  /** The path contains `namespaces/NAME` before the resource. */
  readonly inNamespace: boolean;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** Path segments from the resource on: `[pods, p, log]`. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
  /** The legacy watch path: `/api/v1/watch/...`. */
  readonly legacyWatch: boolean;
}

/** A path that cannot be decoded. */
export class BadPath extends Error {}
/** A path of a watch or proxy without a resource. */
export class UnknownPath extends Error {}

/** Subresources of a namespace; other segments behind its name are resources in it. */
const namespaceSubresources = new Set(["status", "finalize"]);

/** Parses a URL as Kubernetes does. Throws `BadPath` and `UnknownPath`. */
export function requestInfo(method: string, url: string): RequestInfo {
  const mark = url.indexOf("?");
  const rawPath = mark < 0 ? url : url.slice(0, mark);
  const query = parseQuery(mark < 0 ? "" : url.slice(mark + 1));
  let path: string;
  try {
    path = decodeURIComponent(rawPath);
  } catch {
    path = decodedBytes(rawPath);
  }
  const segments = path.replace(/^\/+|\/+$/g, "").split("/");
  const none: RequestInfo = {
    isResource: false,
    verb: method.toLowerCase(),
    path,
    group: "",
    version: "",
    namespace: "",
    inNamespace: false,
    resource: "",
    subresource: "",
    name: "",
    parts: [],
    query,
    legacyWatch: false,
  };
  const api = segments[0];
  if (api !== "api" && api !== "apis") return none;
  const head = api === "api" ? 2 : 3;
  if (segments.length <= head) return none;
  const [group = "", version = ""] = api === "api" ? ["", segments[1]] : segments.slice(1);
  let parts = segments.slice(head);
  let verb = verbs.get(method) ?? "";
  let legacyWatch = false;
  if (parts[0] === "watch" || parts[0] === "proxy") {
    if (parts.length === 1) {
      throw new UnknownPath(`unable to determine kind and namespace from url, ${url}`);
    }
    verb = parts[0];
    legacyWatch = verb === "watch";
    parts = parts.slice(1);
  }
  let namespace = "";
  let inNamespace = false;
  if (parts[0] === "namespaces") {
    const [, name = "", below] = parts;
    namespace = name;
    inNamespace = below !== undefined && !namespaceSubresources.has(below);
    if (inNamespace) parts = parts.slice(2);
  }
  const [resource = "", , subresource = ""] = parts;
  let name = parts[1] ?? "";
  if (name === "" && verb === "get") {
    verb = isWatch(query) ? "watch" : "list";
    name = selectedName(query);
  }
  if (name === "" && verb === "delete") verb = "deletecollection";
  return {
    isResource: true,
    verb,
    path,
    group,
    version,
    namespace,
    inNamespace,
    resource,
    subresource,
    name,
    parts,
    query,
    legacyWatch,
  };
}

/**
 * Decodes percent-encoding. Invalid UTF-8 becomes replacement characters. Throws BadPath for an invalid
 * escape.
 */
function decodedBytes(text: string): string {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) throw new BadPath(`invalid URL escape in ${quoted(text)}`);
  const bytes = text.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString();
}

const verbs: ReadonlyMap<string, string> = new Map([
  ["POST", "create"],
  ["GET", "get"],
  ["HEAD", "get"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

/** `watch=maybe` also watches: only `false` and `0` do not (as in the decoding of Kubernetes' options). */
function isWatch(query: URLSearchParams): boolean {
  return queryBoolean(query, "watch");
}

export function queryBoolean(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value.toLowerCase() !== "false" && value !== "0";
}

/**
 * A list or watch with `fieldSelector=metadata.name=x` counts as a request for that object, if its options
 * are valid; other verbs never do. The alphabetically first of several names counts.
 */
function selectedName(query: URLSearchParams): string {
  const selector = query.get("fieldSelector") ?? "";
  if (!selector.includes("metadata.name")) return "";
  try {
    for (const option of ["limit", "timeoutSeconds"]) integerOption(query, option);
    parseLabelSelector(query.get("labelSelector") ?? "");
    const [name = ""] = parseFieldSelector(selector)
      .requirements.filter(({ field, operator }) => field === "metadata.name" && operator === "=")
      .map(({ value }) => value)
      .sort();
    return pathSegment(name).length === 0 ? name : "";
  } catch (error) {
    if (error instanceof SelectorError || error instanceof StatusError) return "";
    throw error;
  }
}

/** Like Go's: a pair with an invalid escape is dropped. */
function parseQuery(text: string): URLSearchParams {
  const query = new URLSearchParams();
  for (const pair of text.split("&")) {
    if (pair === "" || pair.includes(";")) continue;
    const mark = pair.indexOf("=");
    try {
      const key = unescaped(mark < 0 ? pair : pair.slice(0, mark));
      const value = mark < 0 ? "" : unescaped(pair.slice(mark + 1));
      query.append(key, value);
    } catch {
      // Dropped, see above.
    }
  }
  return query;
}

function unescaped(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}
