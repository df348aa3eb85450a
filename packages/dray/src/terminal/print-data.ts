import { encodeJSON } from "@dray/api";

/** Prints data for programs. */
export async function printData(data: unknown, format: "json" | "yaml"): Promise<void> {
  if (format === "json") {
    process.stdout.write(`${encodeJSON(data, 2)}\n`);
    return;
  }
  const { stringify } = await import("yaml");
  // Without anchors and aliases, which other programs may not support.
  process.stdout.write(stringify(data, { aliasDuplicateObjects: false }));
}
