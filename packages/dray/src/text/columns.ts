/** Aligns the cells of rows, separated by three spaces, as kubectl does. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) =>
    rows.reduce((width, row) => Math.max(width, row[i]?.length ?? 0), 0),
  );
  return rows
    .map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("   "))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}
