/** One clause of a format: `%.3f` has the verb `f` and the precision 3. */
export interface Clause {
  readonly verb: Verb;
  readonly precision: number | undefined;
}

const verbs = ["s", "d", "f", "e", "b", "x", "X", "o"] as const;
export type Verb = (typeof verbs)[number];

/** A format or an argument is invalid. */
export class FormatError {
  readonly message: string;
  /** Offset of the argument in the source; undefined: the offset of the call. */
  readonly offset: number | undefined;
  constructor(message: string, offset?: number) {
    this.message = message;
    this.offset = offset;
  }
}

/**
 * Formats `count` arguments; `write` formats the argument at an index. Returns the text and the number of
 * arguments used. With `isCheck` an incomplete format is reported before a missing argument, as upstream's
 * validator does.
 */
export function formatClauses(
  format: string,
  count: number,
  write: (clause: Clause, index: number) => string | FormatError,
  isCheck: boolean,
): { text: string; used: number } | FormatError {
  let text = "";
  let used = 0;
  for (let at = 0; at < format.length; ) {
    const percent = format.indexOf("%", at);
    if (percent < 0) return { text: text + format.slice(at), used };
    text += format.slice(at, percent);
    if (format[percent + 1] === "%") {
      text += "%";
      at = percent + 2;
      continue;
    }
    const missing = used >= count ? new FormatError(`index ${used} out of range`) : undefined;
    const incomplete = percent + 1 >= format.length ? new FormatError("unexpected end of string") : undefined;
    const problem = isCheck ? (incomplete ?? missing) : (missing ?? incomplete);
    if (problem !== undefined) return problem;
    const clause = parseClause(format.slice(percent + 1));
    if (clause instanceof FormatError) return clause;
    const part = write(clause, used);
    if (part instanceof FormatError)
      return new FormatError(`error during formatting: ${part.message}`, part.offset);
    text += part;
    used++;
    at = percent + 1 + clause.length;
  }
  return { text, used };
}

const maxInt = 2n ** 63n - 1n;

/** Parses a clause behind its `%`. */
function parseClause(rest: string): (Clause & { readonly length: number }) | FormatError {
  const fail = (reason: string): FormatError =>
    new FormatError(`could not parse formatting clause: ${reason}`);
  const failPrecision = (reason: string): FormatError => fail(`error while parsing precision: ${reason}`);
  let precision: number | undefined;
  let length = 0;
  if (rest.startsWith(".")) {
    const digits = rest.slice(1, 1 + rest.slice(1).search(/[^0-9]|$/));
    length = digits.length + 1;
    if (length >= rest.length) return failPrecision("could not find end of precision specifier");
    const reason = digits === "" ? "invalid syntax" : BigInt(digits) > maxInt ? "value out of range" : "";
    if (reason !== "") {
      const parsing = `strconv.Atoi: parsing "${digits}": ${reason}`;
      return failPrecision(`error while converting precision to integer: ${parsing}`);
    }
    precision = Number(digits);
  }
  const verb = verbs.find((known) => known === rest[length]);
  if (verb === undefined) {
    // Upstream reads one byte of UTF-8 as a character.
    const byte = new TextEncoder().encode(Array.from(rest.slice(length))[0]!)[0]!;
    return fail(`unrecognized formatting clause "${String.fromCharCode(byte)}"`);
  }
  return { verb, precision, length: length + 1 };
}

const integers = ["int", "uint"];
const scalars = [...integers, "double", "bool", "string", "bytes"];
const printable = [
  ...scalars,
  "list",
  "map",
  "type",
  "null_type",
  "google.protobuf.Timestamp",
  "google.protobuf.Duration",
];

/** The types that a clause accepts, and the error for other types. */
export const accepted: Readonly<Record<Verb, { readonly types: readonly string[]; readonly rule: string }>> =
  {
    s: {
      types: printable,
      rule: "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
    },
    d: { types: integers, rule: "decimal clause can only be used on integers" },
    f: { types: ["double"], rule: "fixed-point clause can only be used on doubles" },
    e: { types: ["double"], rule: "scientific clause can only be used on doubles" },
    b: { types: [...integers, "bool"], rule: "only integers and bools can be formatted as binary" },
    x: hexadecimal(),
    X: hexadecimal(),
    o: { types: integers, rule: "octal clause can only be used on integers" },
  };

function hexadecimal(): { readonly types: readonly string[]; readonly rule: string } {
  const rule = "only integers, byte buffers, and strings can be formatted as hex";
  return { types: [...integers, "string", "bytes"], rule };
}

/** The error of an argument with a type that the clause does not accept. */
export const wrongType = (verb: Verb, type: string, offset?: number): FormatError =>
  new FormatError(`${accepted[verb].rule}, was given ${type}`, offset);
