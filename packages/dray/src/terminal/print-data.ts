import { encodeJSON } from "@dray/api";

/** Prints data as it is, for programs. */
export async function printData(data: unknown, format: "json" | "yaml"): Promise<void> {
  if (format === "json") {
    process.stdout.write(`${encodeJSON(data, 2)}\n`);
    return;
  }
  const { stringify } = await import("yaml");
  // No anchors and aliases: other programs read it, too.
  process.stdout.write(stringify(data, { aliasDuplicateObjects: false }));
}
