import { VolumeAttachment } from "@dray/api/storage/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { volumeAttachmentColumns } from "./columns.ts";

export const volumeAttachment: ServedKind<VolumeAttachment> = defineServedKind(VolumeAttachment, {
  facts: { status: "reset", answersDeleted: true, needsVersion: true },
  columns: volumeAttachmentColumns,
});
