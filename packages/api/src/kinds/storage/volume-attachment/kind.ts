import { VolumeAttachment } from "../../../generated/storage/v1.ts";
import { defaultHostPath } from "../../core/host-path-defaults.ts";
import { roundResources } from "../../core/pod/defaults.ts";
import { defineKind } from "../../define.ts";
import { volumeAttachmentValidation } from "./validation.ts";

function defaultAttachment({ spec }: VolumeAttachment): void {
  const inline = spec?.source?.inlineVolumeSpec;
  if (!inline) return;
  defaultHostPath(inline.hostPath);
  roundResources(inline.capacity);
}

export const volumeAttachment = defineKind(VolumeAttachment, {
  defaults: defaultAttachment,
  validation: volumeAttachmentValidation,
});
