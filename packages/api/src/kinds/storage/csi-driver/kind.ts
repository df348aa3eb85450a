import { sameValue } from "../../../checks/field.ts";
import { CSIDriver } from "../../../generated/storage/v1.ts";
import { type DefaultsContext, defineKind } from "../../define.ts";
import { csiDriverValidation } from "./validation.ts";

function defaultDriver(driver: CSIDriver, { release }: DefaultsContext): void {
  driver.spec ??= {};
  const { spec } = driver;
  spec.attachRequired ??= true;
  spec.podInfoOnMount ??= false;
  spec.storageCapacity ??= false;
  spec.fsGroupPolicy ??= "ReadWriteOnceWithFSType";
  if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ["Persistent"];
  spec.requiresRepublish ??= false;
  spec.seLinuxMount ??= false;
  // VolumeLimitScaling
  if (release >= "1.37") spec.preventPodSchedulingIfMissing ??= false;
}

export const csiDriver = defineKind(CSIDriver, {
  defaults: defaultDriver,
  validation: csiDriverValidation,
  warnings: ({ spec }, old) =>
    (spec?.tokenRequests ?? []).length > 0 &&
    spec.serviceAccountTokenInSecrets === undefined &&
    !sameValue(spec.tokenRequests, old?.spec?.tokenRequests)
      ? [
          "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes",
        ]
      : [],
});
