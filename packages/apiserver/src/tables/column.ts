import { labelSelectorOf } from "@dray/api";
import type { LabelSelector, ObjectMeta, TableColumnDefinition, TableRow } from "@dray/api/meta/v1";

export type Column = Required<TableColumnDefinition>;
/** Value of a cell of a Table. */
export type Cell = string | number | boolean;

/** Converts objects of a kind to rows: one cell for each column. */
export interface Printer<T> {
  readonly columns: readonly Column[];
  /** Compares two objects for the order of the rows; that of the list if absent. */
  order?(left: T, right: T): number;
  /** Metadata in rows and in PartialObjectMetadata; that of the object if absent. */
  metadata?(object: T): ObjectMeta;
  /** Conditions of a row. */
  conditions?(object: T): NonNullable<TableRow["conditions"]>;
  /** `now` in milliseconds since the epoch. */
  cells(object: T, now: number): Cell[];
}

/** Descriptions of the columns; upstream's are worded differently. */
const descriptions: Readonly<Record<string, string>> = {
  Name: "Name of the object, unique in its namespace.",
  Age: "Time since the object was created.",
  "Created At": "When the object was created.",
  Status: "Where the object is in its life.",
  Ready: "How much of it is ready, of how much.",
  Restarts: "How often its containers were started again, and when last.",
  Containers: "Names of the containers of its pods.",
  Images: "Images of the containers of its pods.",
  Selector: "Labels by which it finds its pods.",
  State: "Whether the claim is pending, allocated, reserved or deleted.",
  Driver: "Name of the driver.",
  Pool: "Name of the pool that the devices belong to.",
  Node: "Name of the node.",
};

interface ColumnOptions {
  readonly type?: "string" | "integer" | "boolean" | "date";
  /** Shown only with `-o wide`. */
  readonly wide?: boolean;
}

export function column(name: string, { type = "string", wide = false }: ColumnOptions = {}): Column {
  return {
    name,
    type,
    format: name === "Name" ? "name" : "",
    description: descriptions[name] ?? `${name} of the object.`,
    priority: wide ? 1 : 0,
  };
}

/** Returns columns of strings. */
export function columns(...names: readonly string[]): Column[] {
  return names.map((name) => column(name));
}

/** Returns columns that only `-o wide` shows. */
export function wide(...names: readonly string[]): Column[] {
  return names.map((name) => column(name, { wide: true }));
}

/** Returns columns of integers. */
export function counts(...names: readonly string[]): Column[] {
  return names.map((name) => column(name, { type: "integer" }));
}

/** Text of an empty cell. */
export const none = "<none>";

/** Returns labels as `a=b,c=d`, sorted. */
export function labelText(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? none : pairs.sort().join(",");
}

/** Returns a selector in the syntax of queries. */
export function selectorText(selector: LabelSelector | undefined): string {
  return selector === undefined ? none : labelSelectorOf(selector).toString() || none;
}
