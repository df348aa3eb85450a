import type { Table } from "@dray/api/meta/v1";

/**
 * Prints the server's table as kubectl does: columns of priority 0 (all if `wide`), separated by three
 * spaces.
 */
export function printTable(
  table: Table,
  { wide, namespaces }: { wide: boolean; namespaces: boolean },
): string {
  const columns = (table.columnDefinitions ?? []).map((column, index) => ({ ...column, index }));
  const shown = columns.filter((column) => wide || (column.priority ?? 0) === 0);
  const rows = (table.rows ?? []).map((row) => {
    const cells = shown.map(({ index }) => String(row.cells?.[index] ?? ""));
    if (!namespaces) return cells;
    const object = row.object as { metadata?: { namespace?: string } } | undefined;
    return [object?.metadata?.namespace ?? "", ...cells];
  });
  const header = [
    ...(namespaces ? ["NAMESPACE"] : []),
    ...shown.map((column) => (column.name ?? "").toUpperCase()),
  ];
  const widths = header.map((name, i) =>
    rows.reduce((width, row) => Math.max(width, row[i]!.length), name.length),
  );
  return [header, ...rows]
    .map((row) => row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i]!))).join("   "))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}
