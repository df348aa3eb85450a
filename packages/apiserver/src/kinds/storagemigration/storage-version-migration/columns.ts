import type { StorageVersionMigration } from "@dray/api/storagemigration/v1";
import { column, columns, type Printer } from "../../../tables/column.ts";

/** The column shows the last of these conditions that is true. */
const migrationStates = new Set(["Running", "Failed", "Succeeded"]);

/** Upstream: pkg/printers/internalversion/printers.go, printStorageVersionMigration */
export const storageVersionMigrationColumns: Printer<StorageVersionMigration> = {
  columns: [{ ...column("Name"), format: "" }, ...columns("Resource", "Status")],
  cells: ({ metadata, spec, status }) => {
    const { group = "", resource = "" } = spec?.resource ?? {};
    const current = status?.conditions?.findLast(
      (condition) => condition.status === "True" && migrationStates.has(condition.type),
    );
    return [metadata.name, group === "" ? resource : `${resource}.${group}`, current?.type ?? "Unknown"];
  },
};
