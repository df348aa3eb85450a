import { additionalOf, child, keyed, propertyOf, type Schema } from "./schema.ts";

/** The part of an object at a path. */
export interface FoundField {
  /** As printed in errors: `spec.labels[a]`. */
  readonly path: string;
  /** The first name of the path. */
  readonly root: string;
  readonly schema: Schema | undefined;
}

/**
 * Resolves a JSON path of names and keys (`.spec.labels['a']`) in a schema; returns the error text if it is
 * invalid. Names in brackets can be forbidden.
 */
export function fieldPath(text: string, schema: Schema, brackets = true): FoundField | string {
  const tokens = tokensOf(text);
  let path = "";
  let root = "";
  let current: Schema | undefined = schema;
  let next = 0;
  const take = (): string | undefined => tokens[next++];
  while (next < tokens.length) {
    const token = take();
    let name: string;
    if (token === "[") {
      if (!brackets) return "array notation is not allowed";
      const quoted = take();
      if (quoted === undefined) return "unexpected end of JSON path";
      if (quoted.length < 2 || !quoted.startsWith("'") || !quoted.endsWith("'")) {
        return `expected single quoted string but got ${quoted}`;
      }
      const unescaped = plainText(quoted.slice(1, -1));
      if (unescaped.wrong !== undefined) {
        return `invalid string literal: invalid escape char ${unescaped.wrong}`;
      }
      name = unescaped.text;
    } else if (token === ".") {
      const following = take();
      if (following === undefined) return "unexpected end of JSON path";
      name = following;
    } else return `expected [ or . but got: ${token}`;
    if (current?.properties !== undefined) {
      path = child(path, name);
      current = propertyOf(current, name);
      if (current === undefined) return "does not refer to a valid field";
    } else if (current?.additionalProperties !== undefined) {
      path = keyed(path, name);
      current = additionalOf(current);
    } else return "does not refer to a valid field";
    root ||= name;
    if (token === "[") {
      const end = take();
      if (end === undefined) return "unexpected end of JSON path";
      if (end !== "]") return `expected ] but got ${end}`;
    }
  }
  return { path, root, schema: current };
}

/** Splits into dots and brackets, quoted texts, and the rest. */
function tokensOf(text: string): string[] {
  return text.match(/'(?:[^']|(?<=\\)')+'|[.[\]]|[^.[\]']+|'[\s\S]*/g) ?? [];
}

const escapes: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "'": "'",
  "\\": "\\",
};

function plainText(text: string): { readonly text: string; readonly wrong?: string } {
  let wrong: string | undefined;
  const plain = text.replace(/\\./g, (part) => {
    const meant = escapes[part[1]!];
    if (meant === undefined) wrong = part;
    return meant ?? "";
  });
  return wrong === undefined ? { text: plain } : { text: plain, wrong };
}
