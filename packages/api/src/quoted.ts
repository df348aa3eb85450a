const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\v": "\\v",
};

/** A text in double quotes as the API server's messages print it (Go's `%q`). */
export function quoted(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must be escaped.
  const escaped = text.replace(/["\\\u0000-\u001f\u007f-\u00a0\u00ad\u2028\u2029\ufeff]/g, (character) => {
    const known = escapes[character];
    if (known !== undefined) return known;
    const code = character.charCodeAt(0);
    return code < 0x80
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : `\\u${code.toString(16).padStart(4, "0")}`;
  });
  return `"${escaped}"`;
}
