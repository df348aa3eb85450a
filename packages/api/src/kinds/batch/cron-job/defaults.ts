import type { CronJob } from "../../../generated/batch/v1.ts";
import type { Wire } from "../../../objects/wire.ts";
import { defaultPodTemplate } from "../../core/pod/defaults.ts";

export function defaultCronJob({ spec }: Wire<CronJob>): void {
  if (!spec) return;
  spec.concurrencyPolicy ||= "Allow";
  spec.suspend ??= false;
  spec.successfulJobsHistoryLimit ??= 3;
  spec.failedJobsHistoryLimit ??= 1;
  defaultPodTemplate(spec.jobTemplate?.spec?.template);
}
