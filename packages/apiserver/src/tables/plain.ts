import type { KubeObject } from "@dray/api";
import { ageText } from "./age.ts";
import { column, columns, type Printer } from "./column.ts";

/** Kinds that show nothing but a name and an age. */
export const plain: Printer<KubeObject> = {
  columns: columns("Name", "Age"),
  cells: ({ metadata }, now) => [metadata.name, ageText(metadata.creationTimestamp, now)],
};

/** Kinds of which upstream shows the time itself. */
export const dated: Printer<KubeObject> = {
  columns: [column("Name"), column("Created At", { type: "date" })],
  cells: ({ metadata }) => [metadata.name, metadata.creationTimestamp ?? ""],
};
