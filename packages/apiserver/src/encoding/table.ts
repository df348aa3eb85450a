import { type KubeObject, quoted, StatusError } from "@dray/api";
import type { ListMeta } from "@dray/api/meta/v1";
import { convert } from "../kinds/conversion.ts";
import { modelOf } from "../kinds/models.ts";
import type { ServedResource } from "../kinds/resources.ts";
import { type IncludeObject, inRowOrder, makeTable } from "../tables/index.ts";

export interface TableOptions {
  /** Contents of `object` in each row: `None`, `Metadata` or `Object`. */
  readonly includeObject: string;
  /** Milliseconds since the epoch, for ages. */
  readonly now: number;
  /** For events of a watch after the first one. */
  readonly omitColumns?: boolean;
}

/**
 * Returns objects in their served version as a Table (meta/v1), which kubectl prints. Throws 400 for invalid
 * options.
 */
export function tableOf(
  { items, metadata }: { readonly items: readonly KubeObject[]; readonly metadata: ListMeta },
  served: ServedResource,
  options: TableOptions,
  version: "v1" | "v1beta1",
): object {
  const { now, omitColumns = false } = options;
  const includeObject = includedOf(options);
  const { printer } = modelOf(served.stored);
  const objects = inRowOrder(printer, items);
  const table = makeTable({
    printer,
    // The columns of a built-in kind are those of its stored version; each version of a custom one has its
    // own.
    objects: served.model ? objects : objects.map((object) => convert(object, served, served.stored)),
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

const included: readonly string[] = ["None", "Metadata", "Object"];

/** Returns the validated includeObject option. Throws 400 for an unknown value. */
export function includedOf({ includeObject }: TableOptions): IncludeObject {
  if (included.includes(includeObject)) return includeObject as IncludeObject;
  throw StatusError.of(
    "BadRequest",
    `Unable to convert to Table as requested: includeObject: Invalid value: ${quoted(includeObject)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}
