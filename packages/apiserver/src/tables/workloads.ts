import { controllerOf, humanDuration } from "@dray/api";
import type { ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet } from "@dray/api/apps/v1";
import type { Scale } from "@dray/api/autoscaling/v1";
import type { CronJob, Job } from "@dray/api/batch/v1";
import type { PodTemplate, PodTemplateSpec, ReplicationController } from "@dray/api/core/v1";
import { ageText } from "./age.ts";
import {
  type Cell,
  column,
  columns,
  counts,
  labelText,
  none,
  type Printer,
  selectorText,
  wide,
} from "./column.ts";
import { internalMetadata } from "./template-generation.ts";

const podColumns = wide("Containers", "Images");

function podCells(template: PodTemplateSpec | undefined): Cell[] {
  const containers = template?.spec?.containers ?? [];
  return [containers.map(({ name }) => name).join(","), containers.map(({ image }) => image ?? "").join(",")];
}

export const daemonSets: Printer<DaemonSet> = {
  columns: [
    column("Name"),
    ...counts("Desired", "Current", "Ready", "Up-to-date", "Available"),
    ...columns("Node Selector", "Age"),
    ...podColumns,
    ...wide("Selector"),
  ],
  metadata: internalMetadata,
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    status?.desiredNumberScheduled ?? 0,
    status?.currentNumberScheduled ?? 0,
    status?.numberReady ?? 0,
    status?.updatedNumberScheduled ?? 0,
    status?.numberAvailable ?? 0,
    labelText(spec?.template?.spec?.nodeSelector),
    ageText(metadata.creationTimestamp, now),
    ...podCells(spec?.template),
    selectorText(spec?.selector),
  ],
};

export const deployments: Printer<Deployment> = {
  columns: [
    ...columns("Name", "Ready", "Up-to-date", "Available", "Age"),
    ...podColumns,
    ...wide("Selector"),
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
    status?.updatedReplicas ?? 0,
    status?.availableReplicas ?? 0,
    ageText(metadata.creationTimestamp, now),
    ...podCells(spec?.template),
    selectorText(spec?.selector),
  ],
};

export const replicaSets: Printer<ReplicaSet> = {
  columns: [
    column("Name"),
    ...counts("Desired", "Current", "Ready"),
    column("Age"),
    ...podColumns,
    ...wide("Selector"),
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec?.replicas ?? 0,
    status?.replicas ?? 0,
    status?.readyReplicas ?? 0,
    ageText(metadata.creationTimestamp, now),
    ...podCells(spec?.template),
    selectorText(spec?.selector),
  ],
};

export const replicationControllers: Printer<ReplicationController> = {
  columns: replicaSets.columns,
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec?.replicas ?? 0,
    status?.replicas ?? 0,
    status?.readyReplicas ?? 0,
    ageText(metadata.creationTimestamp, now),
    ...podCells(spec?.template),
    labelText(spec?.selector),
  ],
};

export const podTemplates: Printer<PodTemplate> = {
  columns: columns("Name", "Containers", "Images", "Pod Labels"),
  cells: ({ metadata, template }) => [
    metadata.name,
    ...podCells(template),
    labelText(template?.metadata?.labels),
  ],
};

export const statefulSets: Printer<StatefulSet> = {
  columns: [...columns("Name", "Ready", "Age"), ...podColumns],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
    ageText(metadata.creationTimestamp, now),
    ...podCells(spec?.template),
  ],
};

export const controllerRevisions: Printer<ControllerRevision> = {
  columns: [...columns("Name", "Controller", "Revision", "Age")],
  cells({ metadata, revision }, now) {
    const owner = controllerOf({ metadata });
    const group = owner?.apiVersion?.includes("/") ? `.${owner.apiVersion.split("/")[0]}` : "";
    return [
      metadata.name,
      owner ? `${owner.kind.toLowerCase()}${group}/${owner.name}` : none,
      Number(revision ?? 0),
      ageText(metadata.creationTimestamp, now),
    ];
  },
};

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

export const jobs: Printer<Job> = {
  columns: [
    ...columns("Name", "Status", "Completions", "Duration", "Age"),
    ...podColumns,
    ...wide("Selector"),
  ],
  cells: (job, now) => [
    job.metadata.name,
    jobStatus(job),
    completions(job),
    jobDuration(job, now),
    ageText(job.metadata.creationTimestamp, now),
    ...podCells(job.spec?.template),
    selectorText(job.spec?.selector),
  ],
};

export const cronJobs: Printer<CronJob> = {
  columns: [
    ...columns("Name", "Schedule", "Timezone"),
    column("Suspend", { type: "boolean" }),
    ...counts("Active"),
    ...columns("Last Schedule", "Age"),
    ...podColumns,
    ...wide("Selector"),
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec?.schedule ?? "",
    spec?.timeZone ?? none,
    spec?.suspend ? "True" : "False",
    (status?.active ?? []).length,
    status?.lastScheduleTime ? ageText(status.lastScheduleTime, now) : none,
    ageText(metadata.creationTimestamp, now),
    ...podCells(spec?.jobTemplate?.spec?.template),
    selectorText(spec?.jobTemplate?.spec?.selector),
  ],
};

export const scales: Printer<Scale> = {
  columns: [{ ...column("Name"), format: "" }, ...counts("Desired", "Available"), column("Age")],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec?.replicas ?? 0,
    status?.replicas ?? 0,
    ageText(metadata.creationTimestamp, now),
  ],
};
