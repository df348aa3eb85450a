import type { TokenEntry } from "@dray/apiserver";
import { UsageError } from "../../terminal/failure.ts";

/**
 * Parses the file of `--token-auth-file`: lines of token, user name, user uid and, optionally, the groups as
 * one quoted field (`t,ann,1,"dev,ops"`). The last line with a token counts; lines without a token are
 * ignored. Throws a UsageError that names the file and the line.
 */
export function parseTokenFile(file: string, text: string): TokenEntry[] {
  const tokens = new Map<string, TokenEntry>();
  for (const { line, fields } of records(file, text)) {
    const [token, name, uid, groups] = fields;
    if (token === undefined || name === undefined || uid === undefined) {
      throw new UsageError(
        `--token-auth-file ${file}: line ${line} must have at least 3 columns (token, user name, user uid), found ${fields.length}`,
      );
    }
    if (token === "") continue;
    tokens.set(token, {
      token,
      user: { name, ...(uid === "" ? {} : { uid }), groups: groups === undefined ? [] : groups.split(",") },
    });
  }
  return [...tokens.values()];
}

/** Parses comma-separated values (RFC 4180) without line breaks in fields; skips empty lines. */
function* records(file: string, text: string): Generator<{ line: number; fields: string[] }> {
  for (const [index, row] of text.split(/\r?\n/).entries()) {
    if (row === "") continue;
    const fields: string[] = [];
    const field = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;
    for (;;) {
      const match = field.exec(row);
      if (match === null) {
        throw new UsageError(
          `--token-auth-file ${file}: line ${index + 1}: a quote must begin and end a field, and is doubled inside it`,
        );
      }
      fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "");
      if (match[3] === "") break;
    }
    yield { line: index + 1, fields };
  }
}
