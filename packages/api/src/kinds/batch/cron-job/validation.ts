/** CronJob. */

import type { ValidationContext } from "../../../checks/context.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import { shownSelector } from "../../../checks/shown-selectors.ts";
import type { CronJob, CronJobSpec, JobSpec } from "../../../generated/batch/v1.ts";
import { scheduleProblem } from "../../../values/schedule.ts";
import { checkJobTemplate } from "../job/validation.ts";

const maxNameLength = 52;
const emptySpec: JobSpec = { template: { spec: { containers: [] } } };

function checkSchedule(errors: FieldErrors, spec: CronJobSpec, old: CronJobSpec | undefined): void {
  const { schedule, timeZone } = spec;
  if (!schedule) {
    errors.at("spec.schedule").required();
    return;
  }
  const problem = scheduleProblem(schedule);
  if (problem !== undefined) errors.at("spec.schedule").invalid(schedule, problem);
  if (!schedule.includes("TZ")) return;
  if (!old?.schedule?.includes("TZ")) {
    errors
      .at("spec.schedule")
      .invalid(schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
  } else if (timeZone !== undefined && timeZone !== null) {
    errors
      .at("spec.schedule")
      .invalid(schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
  }
}

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }) !== undefined;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function checkTimeZone(errors: FieldErrors, zone: string | undefined): void {
  if (zone === undefined || zone === null) return;
  const here = errors.at("spec.timeZone");
  if (zone === "") {
    here.invalid("", "timeZone must be nil or non-empty string");
    return;
  }
  for (const part of zone.split("/")) {
    if (/^[A-Za-z.\-_0-9+]{1,14}$/.test(part) && !part.startsWith("-") && part !== "." && part !== "..")
      continue;
    here.invalid(zone, `unknown time zone ${zone}`);
    return;
  }
  if (zone.toLowerCase() === "local") {
    const detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
    here.invalid(zone, detail);
  } else if (!isZone(zone)) here.invalid(zone, `unknown time zone ${zone}`);
}

function checkSpec(errors: FieldErrors, object: CronJob, context: ValidationContext, old?: CronJob): void {
  const spec = object.spec ?? ({} as CronJobSpec);
  checkSchedule(errors, spec, old?.spec);
  errors.at("spec.startingDeadlineSeconds").notNegative(spec.startingDeadlineSeconds);
  if (old === undefined || old.spec?.timeZone !== spec.timeZone) checkTimeZone(errors, spec.timeZone);
  errors.at("spec.concurrencyPolicy").oneOf(spec.concurrencyPolicy, ["Allow", "Forbid", "Replace"]);
  const template = spec.jobTemplate?.spec ?? emptySpec;
  checkJobTemplate(errors.at("spec.jobTemplate.spec"), template, context);
  if (template.selector) {
    errors
      .at("spec.jobTemplate.spec.selector")
      .invalid(shownSelector(template.selector), "`selector` will be auto-generated");
  }
  if (template.manualSelector) {
    errors.at("spec.jobTemplate.spec.manualSelector").notSupported(true, ["nil", "false"]);
  }
  errors.at("spec.successfulJobsHistoryLimit").notNegative(spec.successfulJobsHistoryLimit);
  errors.at("spec.failedJobsHistoryLimit").notNegative(spec.failedJobsHistoryLimit);
}

export const cronJobValidation = {
  create(errors: FieldErrors, object: CronJob, context: ValidationContext): void {
    checkObject(errors, object);
    checkSpec(errors, object, context);
    const { name } = object.metadata;
    if ((name ?? "").length > maxNameLength) {
      errors.at("metadata.name").invalid(name, `must be no more than ${maxNameLength} characters`);
    }
  },
  update(errors: FieldErrors, object: CronJob, old: CronJob, context: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    checkSpec(errors, object, context, old);
  },
};
