import type { KubeObject } from "@dray/api";
import type { ListMeta } from "@dray/api/meta/v1";
import { convert } from "./registry/conversion/index.ts";
import type { ServedResource } from "./registry/kinds.ts";
import { type IncludeObject, makeTable } from "./tables/index.ts";

export interface TableOptions {
  /** How much of each object a row carries: `Metadata` if absent. */
  readonly includeObject?: IncludeObject;
  /** Milliseconds since the epoch, for ages. */
  readonly now: number;
  /** For the events of a watch after the first. */
  readonly omitColumns?: boolean;
}

/** Objects in their served version as a Table (meta/v1): what kubectl prints. */
export function tableOf(
  objects: readonly KubeObject[],
  metadata: ListMeta,
  served: ServedResource,
  options: TableOptions,
  version: "v1" | "v1beta1",
): object {
  const { includeObject = "Metadata", now, omitColumns = false } = options;
  const table = makeTable({
    // Columns do not depend on the version: cells are read from the stored one.
    kind: served.stored,
    objects: objects.map((object) => convert(object, served, served.stored)),
    listMeta: metadata,
    includeObject,
    now,
    omitColumns,
    version,
  });
  // A bookmark has no name.
  for (const row of table.rows ?? [])
    row.cells = (row.cells ?? []).map((cell) => (cell === undefined ? "" : cell));
  if (includeObject === "Object") {
    table.rows?.forEach((row, index) => {
      row.object = objects[index];
    });
  }
  return table;
}
