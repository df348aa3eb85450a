import { SelectorError } from "./labels.ts";

export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

/** A conjunction of comparisons of fields with texts (query parameter `fieldSelector`). */
export interface FieldSelection {
  readonly requirements: readonly FieldRequirement[];
  readonly empty: boolean;
  /** `textOf` gives the text of a field, "" where it is unset. */
  matches(textOf: (field: string) => string): boolean;
  /** The one value that the field must have; undefined where the selector does not say. */
  exact(field: string): string | undefined;
  toString(): string;
}

/** Takes a value out of its escapes: `\\`, `\,` and `\=`. */
function unescapeValue(text: string): string {
  if (!/[\\,=]/.test(text)) return text;
  let value = "";
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "\\") {
      at++;
      const next = at < text.length ? String.fromCodePoint(text.codePointAt(at) ?? 0) : "";
      if (next === "" || !"\\,=".includes(next)) {
        throw new SelectorError(`invalid field selector: invalid escape sequence: \\${next}`);
      }
      value += next;
    } else if (character === "," || character === "=") {
      throw new SelectorError(
        `invalid field selector: unescaped character in value: ${character.charCodeAt(0)}`,
      );
    } else value += character;
  }
  return value;
}

const escapeValue = (value: string): string => value.replace(/[\\,=]/g, (character) => `\\${character}`);

/**
 * Reads the query parameter `fieldSelector`: `a=b,c!=d`; `\` escapes `,` `=` `\` in a value. Throws
 * SelectorError.
 */
export function parseFieldSelector(text: string): FieldSelection {
  const terms = (text.match(/(?:\\[\s\S]?|[^,\\])+/g) ?? []).sort();
  const all = terms.map((term): FieldRequirement => {
    const match = /^([\s\S]*?)(!=|==|=)([\s\S]*)$/.exec(term);
    if (match === null) throw new SelectorError(`invalid selector: '${text}'; can't understand '${term}'`);
    const [, field = "", operator, value = ""] = match;
    return { field, operator: operator === "!=" ? "!=" : "=", value: unescapeValue(value) };
  });
  // A term of nothing, `=`, selects everything.
  const requirements = all.filter(({ field, value }) => field !== "" || value !== "");
  return {
    requirements,
    empty: requirements.length === 0,
    matches: (textOf) =>
      requirements.every(({ field, operator, value }) => (textOf(field) === value) === (operator === "=")),
    exact: (field) =>
      requirements.find((requirement) => requirement.field === field && requirement.operator === "=")?.value,
    toString: () =>
      requirements.map(({ field, operator, value }) => `${field}${operator}${escapeValue(value)}`).join(","),
  };
}
