/**
 * Words that the lexer of CEL reserves. The first four are tokens and never names, not even of fields.
 * Upstream: staging/src/k8s.io/apiserver/pkg/cel/escaping.go, celReservedSymbols
 */
const tokenWords = ["true", "false", "null", "in"];
const otherWords = [
  "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
  "namespace", "return", "var", "void", "while",
]; // biome-ignore format: a table reads better in lines

/** Words that are tokens, and therefore never names of expressions. */
export const keywords: ReadonlySet<string> = new Set(tokenWords);
/** Words that expressions cannot use as identifiers, though they can name fields. */
export const reservedIdentifiers: ReadonlySet<string> = new Set(otherWords);
const reserved: ReadonlySet<string> = new Set([...tokenWords, ...otherWords]);

const escapes: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
};
const unescapes = new Map(Object.entries(escapes).map(([text, sequence]) => [sequence, text]));

const escapedWord = (word: string): string => `__${word}__`;

/**
 * Returns the name of a property in expressions; undefined if they cannot name it.
 * Upstream: staging/src/k8s.io/apiserver/pkg/cel/escaping.go, Escape
 */
export function escapeFieldName(name: string): string | undefined {
  if (!/^[a-zA-Z_./-][a-zA-Z0-9_./-]*$/.test(name)) return undefined;
  if (reserved.has(name)) return escapedWord(name);
  return name.replace(/__|[-./]/g, (part) => escapes[part]!);
}

/**
 * Returns the property that a name of an expression stands for; undefined if its escapes are invalid. A
 * reserved word stands for itself.
 * Upstream: staging/src/k8s.io/apiserver/pkg/cel/escaping.go, Unescape
 */
export function unescapeFieldName(name: string): string | undefined {
  if (!name.includes("__")) return name;
  let isValid = true;
  const property = name.replace(/__[^_]+__/g, (sequence) => {
    const text = unescapes.get(sequence);
    if (text !== undefined) return text;
    const word = sequence.slice(2, -2);
    // A word is escaped only where it is the whole name.
    if (!reserved.has(word) || sequence !== name) isValid = false;
    return word;
  });
  return isValid ? property : undefined;
}

/**
 * Returns the escaped name by which a type may declare a field that an expression names by a reserved word.
 * Upstream: staging/src/k8s.io/apiserver/pkg/cel/types.go, recognizeKeywordAsFieldName, which is on for
 * stored expressions of each release and for new ones from compatibility version 1.31.
 */
export const escapedReservedWord = (field: string): string | undefined =>
  reserved.has(field) ? escapedWord(field) : undefined;
