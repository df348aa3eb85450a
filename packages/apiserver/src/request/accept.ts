import type { ApiRequest } from "@dray/client";
import { genericError } from "../errors/status.ts";

/** The negotiated media type of a response, and the kind to which the object is converted. */
export interface Accepted {
  readonly mediaType: MediaType;
  /** `Table`, `PartialObjectMetadata`, ...: the kind to which the response is converted. */
  readonly as?: { readonly kind: string; readonly group: string; readonly version: string };
  readonly pretty: boolean;
}

export type MediaType = "application/json" | "application/yaml" | "application/vnd.kubernetes.protobuf";

const mediaTypes: readonly MediaType[] = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
];

export interface AcceptClause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/** Parses the clauses of an Accept header, in order of preference, as kube-apiserver's goautoneg does. */
export function acceptClauses(header: string | undefined): AcceptClause[] {
  const clauses: AcceptClause[] = [];
  for (const part of (header || "*/*").split(",")) {
    const [text = "", ...rest] = part.split(";");
    const type = text.trim() === "*" ? "*/*" : text.trim();
    if (type.split("/").length !== 2) continue;
    const parameters = new Map<string, string>();
    let quality = 1;
    for (const piece of rest) {
      const [key = "", value, ...more] = piece.split("=");
      if (!value || more.length > 0) continue;
      if (key.trim() === "q") quality = Number(value) || 0;
      else parameters.set(key.trim(), value.trim());
    }
    insert(clauses, { type, parameters, quality });
  }
  return clauses;
}

/** In upstream's order, which is not transitive: a clause moves up as long as it precedes its neighbour. */
function insert(clauses: AcceptClause[], clause: AcceptClause): void {
  let at = clauses.length;
  while (at > 0 && before(clause, clauses[at - 1]!)) at--;
  clauses.splice(at, 0, clause);
}

function before(left: AcceptClause, right: AcceptClause): boolean {
  if (left.quality > right.quality) return true;
  const [any, anySub] = [/^\*\//, /\/\*$/];
  if (!any.test(left.type) && any.test(right.type)) return true;
  return !anySub.test(left.type) && anySub.test(right.type);
}

/** Kinds to which an endpoint can convert the object: `meta.k8s.io/v1/Table`. */
export type Forms = ReadonlySet<string>;

export const noForms: Forms = new Set();

/** The parts of a request that select the encoding of the response. */
export type EncodingRequest = Pick<ApiRequest, "url" | "headers">;

/**
 * Returns the first acceptable clause; undefined if no clause is acceptable. Without `protobuf`, the object
 * itself has no protobuf encoding: clauses that request it are skipped.
 */
export function negotiate(request: EncodingRequest, forms: Forms, protobuf = true): Accepted | undefined {
  const header = request.headers["accept"];
  for (const { type, parameters } of acceptClauses(header)) {
    for (const mediaType of mediaTypes) {
      if (type !== mediaType && type !== "*/*" && type !== "application/*") continue;
      const stream = parameters.get("stream") ?? "";
      if (stream !== "" && (stream !== "watch" || mediaType === "application/yaml")) continue;
      // The version of the conversion; discovery has only one.
      const shared = parameters.get("sv") ?? "";
      if (shared !== "" && (shared !== "v1" || forms === noForms)) continue;
      const as = formOf(parameters);
      if (as !== undefined && !hasForm(forms, mediaType, as)) continue;
      if (as === undefined && !protobuf && mediaType === "application/vnd.kubernetes.protobuf") continue;
      const pretty = parameters.get("pretty") === "1" || isPretty(request);
      return { mediaType, pretty, ...(as === undefined ? {} : { as }) };
    }
  }
  return undefined;
}

function formOf(parameters: ReadonlyMap<string, string>): Accepted["as"] {
  const [kind, group, version] = ["as", "g", "v"].map((name) => parameters.get(name));
  if (kind === undefined && group === undefined && version === undefined) return undefined;
  return { kind: kind ?? "", group: group ?? "", version: version ?? "" };
}

/** Tables have no protobuf encoding. */
function hasForm(forms: Forms, mediaType: MediaType, as: NonNullable<Accepted["as"]>): boolean {
  if (as.kind === "Table" && mediaType === "application/vnd.kubernetes.protobuf") return false;
  return forms.has(`${as.group}/${as.version}/${as.kind}`);
}

/** Media types of all resources, and of their watches, as listed in messages. */
export const endpointTypes = mediaTypes.join(", ");
export const streamTypes = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/**
 * The router's check, which comes first: it ignores the parameters of media types, and does not support
 * `application/*`. `more`: additional media types. Throws 406.
 */
export function checkTypes(request: EncodingRequest, streams = false, more: readonly string[] = []): void {
  const known: readonly string[] = [...more, ...mediaTypes];
  checkProduced(request, known, streams ? [...known, streamTypes] : known);
}

/** The same for an endpoint with only these types; `shown`: the types that the error lists. Throws 406. */
export function checkProduced(
  { headers }: Pick<EncodingRequest, "headers">,
  types: readonly string[],
  shown = types,
): void {
  const parts = (headers["accept"] || "*/*").split(",").map((part) => part.split(";", 1)[0]!.trim());
  if (parts.some((type) => type === "*/*" || types.includes(type))) return;
  const available = shown.join(", ");
  throw genericError("NotAcceptable", `406: Not Acceptable\n\nAvailable representations: ${available}`);
}

const humans = ["curl", "Wget", "Mozilla/5.0"];

/** `?pretty=true`; interactive clients get it by default. */
function isPretty({ url, headers }: EncodingRequest): boolean {
  const mark = url.indexOf("?");
  const pretty = mark < 0 ? "" : (new URLSearchParams(url.slice(mark + 1)).get("pretty") ?? "");
  if (pretty !== "") return ["1", "t", "T", "TRUE", "true", "True"].includes(pretty);
  const agent = headers["user-agent"] ?? "";
  return humans.some((name) => agent.startsWith(name));
}
