import { readFileSync } from "node:fs";

/** A fenced block of a page. */
export interface Block {
  readonly language: string;
  readonly text: string;
  /** The line of the page that it begins after. */
  readonly line: number;
  /** The name in its first line, `# name` or `// name`: readers write it to that file. */
  readonly file: string | undefined;
  /** Text of the comment right above it: `<!-- not executed: REASON -->`, `<!-- output varies -->`. */
  readonly note: string | undefined;
}

/** The fenced blocks of a page, in order. */
export function blocksOf(path: string): Block[] {
  const blocks: Block[] = [];
  const lines = readFileSync(path, "utf8").split("\n");
  for (let i = 0; i < lines.length; i++) {
    const [, indent, language] = /^( *)```(\w*)$/.exec(lines[i]!) ?? [];
    if (language === undefined) continue;
    const end = lines.indexOf(`${indent}\`\`\``, i + 1);
    if (end < 0) throw new Error(`${path}:${i + 1}: the block has no end`);
    const body = lines.slice(i + 1, end).map((line) => line.slice(indent!.length));
    const [, file] = /^(?:#|\/\/) ([\w./-]+\.\w+|Dockerfile)$/.exec(body[0] ?? "") ?? [];
    const [, note] = /^<!-- (.*) -->$/.exec(lines[i - 1]?.trim() ?? "") ?? [];
    blocks.push({ language, text: `${body.join("\n")}\n`, line: i + 1, file, note });
    i = end;
  }
  return blocks;
}
