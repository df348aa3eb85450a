import type { ApiRequest } from "@dray/client";
import { genericError } from "../errors/status.ts";

/** What a client wants to be answered: media type, and the form that the object is turned into. */
export interface Accepted {
  readonly mediaType: MediaType;
  /** `Table`, `PartialObjectMetadata`, ...: turn the answer into that. */
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

/** The clauses of an Accept header, the most wanted first, read as kube-apiserver's goautoneg does. */
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

/** In upstream's order, which is not transitive: a clause moves up for as long as it goes before its neighbour. */
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

/** Forms that an endpoint can give besides the object itself: `meta.k8s.io/v1/Table`. */
export type Forms = ReadonlySet<string>;

export const noForms: Forms = new Set();

/** What of a request says which form the answer has. */
export type Asking = Pick<ApiRequest, "url" | "headers">;

/**
 * The first clause that can be satisfied; undefined where none can. Only with `protobuf` is there a form in it of the object
 * itself: a clause that asks for it otherwise is passed over.
 */
export function negotiate(request: Asking, forms: Forms, protobuf = true): Accepted | undefined {
  const header = request.headers["accept"];
  for (const { type, parameters } of acceptClauses(header)) {
    for (const mediaType of mediaTypes) {
      if (type !== mediaType && type !== "*/*" && type !== "application/*") continue;
      const stream = parameters.get("stream") ?? "";
      if (stream !== "" && (stream !== "watch" || mediaType === "application/yaml")) continue;
      // The version of the shared types: of discovery there is none to choose.
      const shared = parameters.get("sv") ?? "";
      if (shared !== "" && (shared !== "v1" || forms === noForms)) continue;
      const as = formOf(parameters);
      if (as !== undefined && !hasForm(forms, mediaType, as)) continue;
      if (as === undefined && !protobuf && mediaType === "application/vnd.kubernetes.protobuf") continue;
      const pretty = parameters.get("pretty") === "1" || prettyWanted(request);
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

/** Tables have no protobuf form. */
function hasForm(forms: Forms, mediaType: MediaType, as: NonNullable<Accepted["as"]>): boolean {
  if (as.kind === "Table" && mediaType === "application/vnd.kubernetes.protobuf") return false;
  return forms.has(`${as.group}/${as.version}/${as.kind}`);
}

/** Media types that every resource can be answered in, and those of its watches, as messages list them. */
export const endpointTypes = mediaTypes.join(", ");
export const streamTypes = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/**
 * What the router does before anything else: it looks at the types alone, without their parameters, and knows no
 * `application/*`. `more` are types besides the common ones. Throws 406.
 */
export function checkTypes(request: Asking, streams = false, more: readonly string[] = []): void {
  const known: readonly string[] = [...more, ...mediaTypes];
  checkProduced(request, known, streams ? [...known, streamTypes] : known);
}

/** The same where only such types are answered; `shown` are those that the refusal names. Throws 406. */
export function checkProduced(
  { headers }: Pick<Asking, "headers">,
  types: readonly string[],
  shown = types,
): void {
  const parts = (headers["accept"] || "*/*").split(",").map((part) => part.split(";", 1)[0]!.trim());
  if (parts.some((type) => type === "*/*" || types.includes(type))) return;
  const available = shown.join(", ");
  throw genericError("NotAcceptable", `406: Not Acceptable\n\nAvailable representations: ${available}`);
}

const humans = ["curl", "Wget", "Mozilla/5.0"];

/** `?pretty=true`; who is probably read by a person gets it without asking. */
function prettyWanted({ url, headers }: Asking): boolean {
  const mark = url.indexOf("?");
  const asked = mark < 0 ? "" : (new URLSearchParams(url.slice(mark + 1)).get("pretty") ?? "");
  if (asked !== "") return ["1", "t", "T", "TRUE", "true", "True"].includes(asked);
  const agent = headers["user-agent"] ?? "";
  return humans.some((name) => agent.startsWith(name));
}
