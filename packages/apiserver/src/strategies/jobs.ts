import type { KubeObject } from "@dray/api";
import type { Job } from "@dray/api/batch/v1";
import type { PodTemplateSpec } from "@dray/api/core/v1";
import type { Strategy } from "../kinds/strategy.ts";

/** An object without labels gets those of its template, whenever it is read (SetDefaults_Job). */
export function labelAsTemplate(object: KubeObject, template: PodTemplateSpec | undefined): void {
  const labels = template?.metadata?.labels;
  if (labels && Object.keys(object.metadata.labels ?? {}).length === 0)
    object.metadata.labels = { ...labels };
}

const warning =
  "child pods are preserved by default when jobs are deleted; " +
  "set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

/** A new job selects its pods by its own uid, unless it says that it chooses by itself; the job is a draft. */
export function selectOwnPods({ spec, metadata }: Job): void {
  if (!spec || spec.manualSelector) return;
  const own = {
    "job-name": metadata.name ?? "",
    "batch.kubernetes.io/job-name": metadata.name ?? "",
    "controller-uid": metadata.uid,
    "batch.kubernetes.io/controller-uid": metadata.uid,
  };
  const { template } = spec;
  const given = template.metadata?.labels;
  const labels = { ...own, ...given };
  // Labels that a job has got from its template are the template's.
  if (given !== undefined && metadata.labels === given) metadata.labels = { ...labels };
  template.metadata = { ...template.metadata, labels };
  const selected = { "batch.kubernetes.io/controller-uid": metadata.uid };
  spec.selector = { ...spec.selector, matchLabels: { ...selected, ...spec.selector?.matchLabels } };
}

export const jobs: Strategy = {
  prepareForCreate: (object) => selectOwnPods(object as Job),

  complete(object) {
    labelAsTemplate(object, (object as Job).spec?.template);
  },

  // As it was before there was a garbage collector.
  garbageCollection: "orphan",

  warnOfDeletion: (options) => (options.propagationPolicy === undefined ? [warning] : []),
};
