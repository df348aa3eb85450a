/** A format of recorded cases: one JSON object a line, recognised by its fields. */
export interface Format {
  /** The topic of its cases, for readers. */
  readonly name: string;
  recognises(line: Fields): boolean;
  /** Throws MalformedLine where the line is not what the format asks for. */
  read(line: Fields): Case;
  /** Ends what its cases have started. */
  close?(): Promise<void>;
}

/** A question with the recorded answer. */
export interface Case {
  /** The same in every run; unique among the cases of its format. */
  readonly id: string;
  /** The question in brief, for readers. */
  readonly question: string;
  /** Asks Dray's implementation and compares. Errors that it throws are passed through. */
  replay(): Outcome | Promise<Outcome>;
  /** It waits for another process: several may be replayed at a time. */
  readonly concurrent?: boolean;
}

export interface Outcome {
  /** None: the case has passed. */
  readonly differences: readonly Difference[];
  /** Parts that agree as far as the format compares them, and not to the last letter. */
  readonly beyond?: number;
}

export interface Difference {
  /** The compared part of the answer. A run counts differences by kind. */
  readonly kind: string;
  /** Where, if the kind does not tell. */
  readonly where?: string;
  readonly expected: string;
  readonly actual: string;
}

export type Fields = Readonly<Record<string, unknown>>;

/**
 * A line that no case can be read from; the message names the field, its value and what would be accepted.
 */
export class MalformedLine extends Error {
  override readonly name = "MalformedLine";
}

const kinds = {
  string: (value: unknown): value is string => typeof value === "string",
  boolean: (value: unknown): value is boolean => typeof value === "boolean",
  number: (value: unknown): value is number | bigint =>
    typeof value === "number" || typeof value === "bigint",
  list: (value: unknown): value is readonly unknown[] => Array.isArray(value),
  object: (value: unknown): value is Fields =>
    typeof value === "object" && value !== null && !Array.isArray(value),
};
type Kinds = {
  [K in keyof typeof kinds]: (typeof kinds)[K] extends (value: unknown) => value is infer T ? T : never;
};

/** A field that must be there; `within` is the path of `fields`, for the message. */
export function required<K extends keyof Kinds>(
  fields: Fields,
  name: string,
  kind: K,
  within = "",
): Kinds[K] {
  const value = optional(fields, name, kind, within);
  if (value === undefined) throw new MalformedLine(`${within}${name} is missing: it must be of type ${kind}`);
  return value;
}

/** A field that may be absent or null. */
export function optional<K extends keyof Kinds>(
  fields: Fields,
  name: string,
  kind: K,
  within = "",
): Kinds[K] | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  return ofKind(value, `${within}${name}`, kind);
}

/** A list that must be there, all of its elements of one kind. */
export function requiredList<K extends keyof Kinds>(
  fields: Fields,
  name: string,
  kind: K,
  within = "",
): readonly Kinds[K][] {
  const list = required(fields, name, "list", within);
  return list.map((value, i) => ofKind(value, `${within}${name}[${i}]`, kind));
}

function ofKind<K extends keyof Kinds>(value: unknown, path: string, kind: K): Kinds[K] {
  if (!kinds[kind](value)) throw new MalformedLine(`${path} is ${short(value)}: it must be of type ${kind}`);
  return value as Kinds[K];
}

/** JSON of a value, for people: bigints as numbers, long ones cut. */
export function short(value: unknown, longest = 120): string {
  const text = json(value);
  return text.length > longest ? `${text.slice(0, longest)}...` : text;
}

/** JSON with the keys in order; bigints as numbers. */
export function json(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(json).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${json(item)}`).join(",")}}`;
  }
  return JSON.stringify(value) ?? "undefined";
}
