import { podMakerWarnings } from "../../../checks/warnings/common.ts";
import { Job } from "../../../generated/batch/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultJob } from "./defaults.ts";
import { checkJobStatus } from "./status.ts";
import { jobValidation } from "./validation.ts";
import { jobWarnings } from "./warnings.ts";

export const job = defineKind(Job, {
  defaults: defaultJob,
  validation: { ...jobValidation, status: checkJobStatus },
  warnings: (object, old) => podMakerWarnings(object, old, () => jobWarnings("spec", object.spec)),
});
