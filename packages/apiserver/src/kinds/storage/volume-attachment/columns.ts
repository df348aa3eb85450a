import type { VolumeAttachment } from "@dray/api/storage/v1";
import { ageText } from "../../../tables/age.ts";
import { column, columns, type Printer } from "../../../tables/column.ts";
import { flag } from "../../core/volume-columns.ts";

export const volumeAttachmentColumns: Printer<VolumeAttachment> = {
  columns: [
    column("Name"),
    { ...column("Attacher"), format: "name" },
    ...columns("PV", "Node"),
    flag("Attached"),
    column("Age"),
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec?.attacher ?? "",
    spec?.source?.persistentVolumeName ?? "",
    spec?.nodeName ?? "",
    status?.attached ?? false,
    ageText(metadata.creationTimestamp, now),
  ],
};
