import { humanDuration } from "@dray/api";
import type { Job } from "@dray/api/batch/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer, selectorText, wide } from "../../../tables/column.ts";
import { templateCells, templateColumns } from "../../apps/columns.ts";

function jobStatus({ metadata, status }: Job): string {
  const has = (wanted: string): boolean =>
    (status?.conditions ?? []).some(({ type, status: state }) => type === wanted && state === "True");
  if (has("Complete")) return "Complete";
  if (has("Failed")) return "Failed";
  if (metadata.deletionTimestamp) return "Terminating";
  return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find(has) ?? "Running";
}

function completions({ spec, status }: Job): string {
  const done = status?.succeeded ?? 0;
  if (spec?.completions !== undefined) return `${done}/${spec.completions}`;
  const parallel = spec?.parallelism ?? 0;
  return parallel > 1 ? `${done}/1 of ${parallel}` : `${done}/1`;
}

function jobDuration({ status }: Job, now: number): string {
  if (!status?.startTime) return "";
  const end = status.completionTime ? Date.parse(status.completionTime) : now;
  return humanDuration(end - Date.parse(status.startTime));
}

export const jobColumns: Printer<Job> = {
  columns: [
    ...columns("Name", "Status", "Completions", "Duration", "Age"),
    ...templateColumns,
    ...wide("Selector"),
  ],
  cells: (job, now) => [
    job.metadata.name,
    jobStatus(job),
    completions(job),
    jobDuration(job, now),
    ageText(job.metadata.creationTimestamp, now),
    ...templateCells(job.spec?.template),
    selectorText(job.spec?.selector),
  ],
};
