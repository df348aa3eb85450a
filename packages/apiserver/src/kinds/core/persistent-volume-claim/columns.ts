import type { PersistentVolumeClaim } from "@dray/api/core/v1";
import { ageText } from "../../../tables/age.ts";
import { column, columns, type Printer } from "../../../tables/column.ts";
import { classOf, modesText } from "../volume-columns.ts";

export const persistentVolumeClaimColumns: Printer<PersistentVolumeClaim> = {
  columns: [
    ...columns("Name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass"),
    ...columns("VolumeAttributesClass", "Age"),
    column("VolumeMode", { wide: true }),
  ],
  cells({ metadata, spec, status }, now) {
    const bound = Boolean(spec?.volumeName);
    return [
      metadata.name,
      metadata.deletionTimestamp ? "Terminating" : (status?.phase ?? ""),
      spec?.volumeName ?? "",
      bound ? (status?.capacity?.["storage"] ?? "0") : "",
      bound ? modesText(status?.accessModes) : "",
      classOf(metadata, spec?.storageClassName),
      spec?.volumeAttributesClassName ?? "<unset>",
      ageText(metadata.creationTimestamp, now),
      spec?.volumeMode ?? "<unset>",
    ];
  },
};
