/** Prints data as it is, for programs. */
export async function printData(data: unknown, format: "json" | "yaml"): Promise<void> {
  if (format === "json") {
    process.stdout.write(`${JSON.stringify(data, withDigits, 2)}\n`);
    return;
  }
  const { stringify } = await import("yaml");
  // What stands in two places is written twice: other programs read it, too.
  process.stdout.write(stringify(data, { aliasDuplicateObjects: false }));
}

/** A number that JavaScript holds as a bigint keeps its digits. */
function withDigits(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? (JSON as unknown as RawJSON).rawJSON(String(value)) : value;
}

/** What Node has and the library of TypeScript does not list yet. */
interface RawJSON {
  rawJSON(text: string): unknown;
}
