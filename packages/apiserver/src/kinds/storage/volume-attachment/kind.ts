import { VolumeAttachment } from "@dray/api/storage/v1";
import { defineServedKind } from "../../define.ts";
import { volumeAttachmentColumns } from "./columns.ts";

export const volumeAttachment = defineServedKind(VolumeAttachment, {
  facts: { status: "reset", answersDeleted: true, needsVersion: true },
  columns: volumeAttachmentColumns,
});
