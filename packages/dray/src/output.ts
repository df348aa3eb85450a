/** Prints data as it is, for programs. */
export async function printData(data: unknown, format: "json" | "yaml"): Promise<void> {
  if (format === "json") {
    process.stdout.write(`${JSON.stringify(data, null, 2)}\n`);
    return;
  }
  const { stringify } = await import("yaml");
  process.stdout.write(stringify(data));
}
