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

/** The clauses of an Accept header, the most wanted first. */
export function acceptClauses(header: string | undefined): AcceptClause[] {
  const clauses: AcceptClause[] = [];
  for (const part of (header ?? "*/*").split(",")) {
    const [type, ...rest] = part.split(";").map((piece) => piece.trim());
    if (!type) continue;
    const parameters = new Map<string, string>();
    let quality = 1;
    for (const piece of rest) {
      const mark = piece.indexOf("=");
      const key = (mark < 0 ? piece : piece.slice(0, mark)).trim().toLowerCase();
      const value =
        mark < 0
          ? ""
          : piece
              .slice(mark + 1)
              .trim()
              .replaceAll('"', "");
      if (key === "q") quality = Number(value);
      else parameters.set(key, value);
    }
    clauses.push({ type: type.toLowerCase(), parameters, quality: Number.isNaN(quality) ? 1 : quality });
  }
  return clauses.sort((a, b) => b.quality - a.quality);
}

/** Forms that an endpoint can give besides the object itself: `Table`, `PartialObjectMetadata(List)`. */
export type Forms = ReadonlySet<string>;

export const noForms: Forms = new Set();

/**
 * The first clause that can be satisfied. Answers undefined where none can: then `unknownType` says whether no
 * media type was known at all (the two are answered in different words).
 */
export function negotiate(
  header: string | undefined,
  forms: Forms,
  options: { readonly stream?: boolean } = {},
): Accepted | { readonly unknownType: boolean } {
  if (header !== undefined && header.trim() === "") header = undefined;
  let known = false;
  for (const clause of acceptClauses(header)) {
    const mediaType =
      clause.type === "*/*" ? "application/json" : mediaTypes.find((type) => type === clause.type);
    if (mediaType === undefined) continue;
    known = true;
    if (options.stream && mediaType === "application/yaml") continue;
    const pretty = clause.parameters.get("pretty") === "1" || clause.parameters.get("pretty") === "true";
    const as = clause.parameters.get("as");
    if (as === undefined || as === "") return { mediaType, pretty };
    const group = clause.parameters.get("g") ?? "";
    const version = clause.parameters.get("v") ?? "";
    if (!forms.has(`${group}/${version}/${as}`)) continue;
    return { mediaType, pretty, as: { kind: as, group, version } };
  }
  return { unknownType: !known };
}
