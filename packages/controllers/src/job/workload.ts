import { apiVersionOf } from "@dray/api";
import { Job } from "@dray/api/batch/v1";
import type { PodTemplateSpec } from "@dray/api/core/v1";
import { type PodGroup, type PodGroupTemplate, Workload } from "@dray/api/scheduling/v1beta1";
import { nameHash } from "../shared/name-hash.ts";
import { controllerOf, controllerReference, groupOf } from "../shared/owners.ts";

/** Annotation of an owner that leaves the PodGroup to the Job: the template in the owner's Workload. */
export const groupTemplateAnnotation = "scheduling.k8s.io/group-template-name";
/** Maximum length of a DNS subdomain. */
const maxNameLength = 253;

/**
 * Which scheduling objects the controller creates for a Job: both, the PodGroup only, or none.
 *
 * Upstream: pkg/controller/job/job_scheduling_manager.go, getManagementMode.
 */
export type GroupMode = "both" | "podgroup" | "none";

export function groupMode(job: Job): GroupMode {
  if (job.spec.template.spec?.schedulingGroup !== undefined) return "none";
  if (controllerOf(job) === undefined) return "both";
  return job.metadata.annotations?.[groupTemplateAnnotation] === undefined ? "none" : "podgroup";
}

/** Reports whether the Job has never had a pod: one that is older than the gate stays as it is. */
export function isNewJob({ status = {} }: Job, pods: number): boolean {
  const { conditions = [], failed = 0, startTime, succeeded = 0 } = status;
  return (
    pods === 0 &&
    startTime === undefined &&
    succeeded === 0 &&
    failed === 0 &&
    !conditions.some(({ type }) => type === "Suspended")
  );
}

/**
 * The Workload that the scheduling of a Job comes to. Upstream:
 * k8s.io/component-helpers/scheduling/schedulingv1/workloadbuilder.
 */
export function workloadOf(job: Job) {
  const { name, namespace, uid } = job.metadata;
  const end = `-${nameHash(uid)}`;
  return {
    metadata: {
      name: `${name.slice(0, maxNameLength - end.length)}${end}`,
      namespace,
      ownerReferences: [controllerReference(Job, job)],
    },
    spec: {
      controllerRef: { apiGroup: Job.group, kind: Job.kind, name },
      podGroupTemplates: [podGroupTemplateOf(job)],
    },
  };
}

function podGroupTemplateOf({ metadata, spec }: Job): PodGroupTemplate {
  const { disruptionMode = {}, resourceClaims = [], schedulingConstraints } = spec.scheduling ?? {};
  const { gang } = spec.scheduling?.schedulingPolicy ?? {};
  const { priorityClassName } = spec.template.spec ?? {};
  const { topology = [] } = schedulingConstraints ?? {};
  return {
    name: `${metadata.name}-pgt-0`,
    schedulingPolicy:
      gang === undefined
        ? { basic: {} }
        : { gang: { minCount: gang.minCount ?? Math.max(1, spec.parallelism ?? 1) } },
    ...(topology.length === 0 ? {} : { schedulingConstraints: { topology } }),
    ...(resourceClaims.length === 0 ? {} : { resourceClaims }),
    ...(disruptionMode.all === undefined ? {} : { disruptionMode: { all: {} } }),
    ...(disruptionMode.single === undefined ? {} : { disruptionMode: { single: {} } }),
    ...(priorityClassName ? { priorityClassName } : {}),
  };
}

/** The Workload that the owner of a Job has made for itself, if it is this one. */
export function isOfOwner({ spec }: Workload, job: Job): boolean {
  const owner = controllerOf(job);
  const { apiGroup = "", kind, name } = spec.controllerRef ?? {};
  return (
    owner !== undefined &&
    apiGroup === groupOf(owner.apiVersion) &&
    kind === owner.kind &&
    name === owner.name
  );
}

/** The PodGroup of a Job, from a template of a Workload; a Workload of the Job itself owns it, too. */
export function podGroupOf(job: Job, workload: Workload, template: PodGroupTemplate) {
  const { name: templateName, preemptionPolicy: _, ...spec } = template;
  const { name, namespace, uid } = workload.metadata;
  const owner = { apiVersion: apiVersionOf(Workload), kind: Workload.kind, name, uid };
  return {
    metadata: {
      name: groupName(name, templateName),
      namespace,
      ownerReferences: [controllerReference(Job, job), ...(controllerOf(job) === undefined ? [owner] : [])],
    },
    spec: { ...spec, workloadRef: { workloadName: name, templateName } },
  };
}

function groupName(workload: string, template: string): string {
  const end = `-${nameHash([workload, template])}`;
  const room = maxNameLength - end.length - 1;
  const half = Math.floor(room / 2);
  const forTemplate = Math.max(half, room - workload.length);
  const second = template.slice(0, forTemplate);
  return `${workload.slice(0, room - second.length)}-${second}${end}`;
}

/**
 * The template of a pod of the group. Upstream makes the group an owner of the pod, too: a Job that is
 * deleted would leave pods whose group waits for them, while they wait for their group.
 */
export function groupedTemplate({ metadata, spec }: PodTemplateSpec, group: PodGroup): PodTemplateSpec {
  const schedulingGroup = { podGroupName: group.metadata.name };
  return {
    ...(metadata === undefined ? {} : { metadata }),
    spec: { ...spec, containers: spec?.containers ?? [], schedulingGroup },
  };
}
