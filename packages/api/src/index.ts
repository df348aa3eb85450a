export * from "./object.ts";
export * from "./errors.ts";
export {
  type FieldMarks,
  type FieldRow,
  type KindRow,
  kindRows,
  knownValues,
  typeRows,
} from "./schema/table.ts";
