/**
 * Tables (meta/v1): the columns that kubectl prints, chosen and filled by the server as upstream's printers
 * do.
 */
import type { KubeObject } from "@dray/api";
import type { ListMeta, ObjectMeta, Table, TableRow } from "@dray/api/meta/v1";
import { unset } from "../json/unset.ts";
import type { Printer } from "./column.ts";

export type { Cell } from "./column.ts";

/** Metadata of an object as rows and PartialObjectMetadata carry it. */
export function shownMetadata(printer: Printer<KubeObject>, object: KubeObject): ObjectMeta {
  return printer.metadata?.(object) ?? object.metadata;
}

/** The objects of a list in the order in which a table shows them. */
export function inRowOrder<T extends KubeObject>(
  { order }: Printer<KubeObject>,
  objects: readonly T[],
): readonly T[] {
  return order === undefined ? objects : objects.toSorted(order);
}

/** How much of its object a row carries. */
export type IncludeObject = "Metadata" | "Object" | "None";

export interface TableRequest {
  readonly printer: Printer<KubeObject>;
  readonly objects: readonly KubeObject[];
  /** Metadata of the list, or `{resourceVersion}` of the one object. */
  readonly listMeta: ListMeta;
  readonly includeObject: IncludeObject;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** True for the events of a watch after the first, which carry no columns. */
  readonly omitColumns?: boolean;
  /** The version of the Table that the client asked for: `v1` if absent. */
  readonly version?: "v1" | "v1beta1";
}

function rowObject(
  object: KubeObject,
  printer: Printer<KubeObject>,
  include: IncludeObject,
  apiVersion: string,
): unknown {
  if (include === "None") return null;
  if (include === "Object") return object;
  return { kind: "PartialObjectMetadata", apiVersion, metadata: shownMetadata(printer, object) };
}

/** Objects as a Table; `null` columns where they are omitted, as upstream writes it. */
export function makeTable(request: TableRequest): Table & { kind: "Table"; apiVersion: string } {
  const { printer, objects, listMeta, includeObject, now, omitColumns = false, version = "v1" } = request;
  const apiVersion = `meta.k8s.io/${version}`;
  const rows = objects.map((object): TableRow => {
    const conditions = printer.conditions?.(object) ?? [];
    return {
      cells: printer.cells(object, now),
      ...(conditions.length > 0 ? { conditions } : {}),
      object: rowObject(object, printer, includeObject, apiVersion),
    };
  });
  return {
    kind: "Table",
    apiVersion,
    metadata: listMeta,
    columnDefinitions: omitColumns ? unset() : [...printer.columns],
    rows,
  };
}
