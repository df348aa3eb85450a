/** Indents JSON text by two blanks a level, as Go's json.Indent. */
export function indentedJSON(text: string): string {
  const out: string[] = [];
  let depth = 0;
  const newLine = (): void => {
    out.push("\n", "  ".repeat(depth));
  };
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (character === '"') {
      const from = at;
      for (at++; text[at] !== '"'; at++) if (text[at] === "\\") at++;
      out.push(text.slice(from, at + 1));
    } else if (character === "{" || character === "[") {
      out.push(character);
      const next = text[at + 1];
      if (next === "}" || next === "]") {
        out.push(next);
        at++;
      } else {
        depth++;
        newLine();
      }
    } else if (character === "}" || character === "]") {
      depth--;
      newLine();
      out.push(character);
    } else if (character === ",") {
      out.push(",");
      newLine();
    } else if (character === ":") out.push(": ");
    else out.push(character);
  }
  return out.join("");
}
