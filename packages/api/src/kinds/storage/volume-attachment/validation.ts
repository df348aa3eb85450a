import { checkImmutable, type FieldErrors } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkObject } from "../../../checks/objects.ts";
import type { VolumeAttachment } from "../../../generated/storage/v1.ts";
import { byteLength, dnsSubdomain } from "../../../values/names.ts";
import { checkInlineVolume } from "../../core/persistent-volume/validation.ts";
import { checkDriver } from "../../core/pod/volume-sources.ts";
import { limits } from "../class-parameters.ts";

function checkAttachment(errors: FieldErrors, { spec, status }: VolumeAttachment): void {
  if (!spec?.attacher) errors.at("spec.attacher").required();
  else checkDriver(errors.at("spec.attacher"), spec.attacher);
  const { inlineVolumeSpec, persistentVolumeName: name } = spec?.source ?? {};
  const named = name !== undefined && name !== null;
  const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (!inlineVolumeSpec && !named) errors.at("spec.source").required(one);
  else if (inlineVolumeSpec && named) errors.at("spec.source").forbidden(one);
  else if (name === "") {
    errors.at("spec.source.persistentVolumeName").required("must specify non empty persistentVolumeName");
  } else if (inlineVolumeSpec) checkInlineVolume(errors.at("spec.source.inlineVolumeSpec"), inlineVolumeSpec);
  errors.at("spec.nodeName").check(dnsSubdomain, spec?.nodeName ?? "");
  let size = 0;
  for (const [key, value] of Object.entries(status?.attachmentMetadata ?? {}))
    size += byteLength(key) + byteLength(value);
  if (size > limits.bytes) errors.at("status.attachmentMetadata").tooLong(limits.bytes);
  for (const field of ["attachError", "detachError"] as const) {
    const error = status?.[field];
    if (error?.message && byteLength(error.message) > limits.error)
      errors.at(`status.${field}.message`).tooLong(limits.bytes);
    if (error?.errorCode !== undefined && error.errorCode !== null && error.errorCode < 0) {
      errors
        .at(`status.${field}.errorCode`)
        .invalid(error.errorCode, "must be between 0 and 2147483647, inclusive");
    }
  }
  if (named) errors.at("spec.source.persistentVolumeName").check(dnsSubdomain, name);
}

function checkAttachmentUpdate(errors: FieldErrors, object: VolumeAttachment, old: VolumeAttachment): void {
  checkObject(errors, object, dnsSubdomain, false);
  checkAttachment(errors, object);
  const printed = (): unknown => internalForm("storage/v1.VolumeAttachmentSpec", object.spec ?? {}, errors);
  checkImmutable(errors.at("spec"), object.spec, old.spec, printed);
}

export const volumeAttachmentValidation = {
  create(errors: FieldErrors, object: VolumeAttachment): void {
    checkObject(errors, object, dnsSubdomain, false);
    checkAttachment(errors, object);
  },
  update: checkAttachmentUpdate,
  status: checkAttachmentUpdate,
};
