import { canonicalJSON, floatText, type KubeObject } from "@dray/api";
import type { CustomResourceColumnDefinition } from "@dray/api/apiextensions/v1";
import { ageText } from "../tables/age.ts";
import type { Cell, Column, Printer } from "../tables/column.ts";
import { parseJsonPath } from "./json-path.ts";
import { findAll } from "./json-path-find.ts";

/** The default column of tables: the age. */
const age: CustomResourceColumnDefinition = {
  name: "Age",
  type: "date",
  description: "Time since the object was created.",
  jsonPath: ".metadata.creationTimestamp",
};

const nameColumn: Column = {
  name: "Name",
  type: "string",
  format: "name",
  description: "Name of the object, unique in its namespace.",
  priority: 0,
};

/**
 * Returns the columns of a version (apiextensions.k8s.io/v1 additionalPrinterColumns); an invalid path ends
 * the list.
 */
export function printerOf(
  definitions: readonly CustomResourceColumnDefinition[] | undefined,
): Printer<KubeObject> {
  const selected = definitions === undefined || definitions.length === 0 ? [age] : definitions;
  const columns: Column[] = [nameColumn];
  const cells: ((object: KubeObject, now: number) => Cell | null)[] = [];
  for (const { name, type, format = "", description, priority = 0, jsonPath } of selected) {
    const path = parseJsonPath(jsonPath);
    if (path === undefined) break;
    columns.push({
      name,
      type,
      format,
      description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
      priority,
    });
    cells.push((object, now) => {
      const found = findAll(path, object)?.[0];
      return found === undefined ? null : cellOf(type, found, now);
    });
  }
  return {
    columns,
    cells: (object, now) => [object.metadata.name, ...cells.map((cell) => cell(object, now) as Cell)],
  };
}

/** Columns of the scale of a custom resource. */
export const scalePrinter: Printer<KubeObject> = printerOf([
  { name: "Desired", type: "integer", description: "Number of desired replicas", jsonPath: ".spec.replicas" },
  {
    name: "Available",
    type: "integer",
    description: "Number of actual replicas",
    jsonPath: ".status.replicas",
  },
  age,
]);

function cellOf(type: string, value: unknown, now: number): Cell | null {
  switch (type) {
    case "integer":
      if (typeof value === "bigint") return Number(value);
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" || typeof value === "bigint" ? Number(value) : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? dateCell(value, now) : null;
    default:
      return text(value);
  }
}

const timestamp = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Formats the age of a time as the API server does for old clients: an unknown time is empty. */
function dateCell(value: string, now: number): string {
  if (value === "" || value === "null") return "<unknown>";
  const valid = timestamp.test(value) && !Number.isNaN(Date.parse(value));
  return valid ? ageText(value, now) : "<invalid>";
}

/** Formats objects and lists as Go's JSON, other values with Go's `%v`. */
function text(value: unknown): string {
  if (value === null) return "<no value>";
  if (typeof value === "number" && !Number.isSafeInteger(value)) return floatText(value);
  if (typeof value !== "object") return String(value);
  return canonicalJSON(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
