import { podMakerWarnings } from "../../../checks/warnings/common.ts";
import { CronJob } from "../../../generated/batch/v1.ts";
import { defineKind } from "../../define.ts";
import { jobWarnings } from "../job/warnings.ts";
import { defaultCronJob } from "./defaults.ts";
import { cronJobValidation } from "./validation.ts";

export const cronJob = defineKind(CronJob, {
  defaults: defaultCronJob,
  validation: cronJobValidation,
  warnings: (object, old) =>
    podMakerWarnings(object, old, () => jobWarnings("spec.jobTemplate.spec", object.spec?.jobTemplate?.spec)),
});
