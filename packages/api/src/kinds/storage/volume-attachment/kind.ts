import { VolumeAttachment } from "../../../generated/storage/v1.ts";
import { roundResources } from "../../core/pod/defaults.ts";
import { defaultVolumeSources } from "../../core/volume-source-defaults.ts";
import { defineKind } from "../../define.ts";
import { volumeAttachmentValidation } from "./validation.ts";

function defaultAttachment({ spec }: VolumeAttachment): void {
  const inline = spec?.source?.inlineVolumeSpec;
  if (!inline) return;
  defaultVolumeSources(inline);
  roundResources(inline.capacity);
}

export const volumeAttachment = defineKind(VolumeAttachment, {
  defaults: defaultAttachment,
  validation: volumeAttachmentValidation,
});
