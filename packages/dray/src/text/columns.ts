/** Aligns the cells of rows, separated by three spaces, as kubectl does, or by `gap`. */
export function columns(rows: readonly (readonly string[])[], gap = 3): string {
  const widths = (rows[0] ?? []).map((_, i) =>
    rows.reduce((width, row) => Math.max(width, row[i]?.length ?? 0), 0),
  );
  return rows
    .map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" ".repeat(gap)))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}
