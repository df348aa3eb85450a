/** Job. */

import type { ValidationContext } from "../../../checks/context.ts";
import { checkImmutable, type FieldErrors, sameValue } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkLabelSelector } from "../../../checks/nodeselector.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import { selects, shownLabels, shownSelector } from "../../../checks/shown-selectors.ts";
import type { Job, JobSpec } from "../../../generated/batch/v1.ts";
import type { Container, PodSpec, PodTemplateSpec } from "../../../generated/core/v1.ts";
import { byteLength, dnsLabel } from "../../../values/names.ts";
import { checkMatch, checkTemplate } from "../../core/pod-template/template.ts";
import { checkDomainPath } from "../../resource/names.ts";
import { checkFailurePolicy, checkSuccessPolicy } from "./policies.ts";

const many = 100_000;
const manyAtOnce = 10_000;
const maxManagerLength = 63;
const isSet = <T>(value: T | undefined | null): value is T => value !== undefined && value !== null;

function checkIndexed(errors: FieldErrors, spec: JobSpec): void {
  const { completions, parallelism, maxFailedIndexes: failed, backoffLimitPerIndex } = spec;
  if (!isSet(completions)) errors.at("completions").required("when completion mode is Indexed");
  if (isSet(parallelism) && parallelism > many) {
    const detail = `must be less than or equal to ${many} when completion mode is Indexed`;
    errors.at("parallelism").invalid(parallelism, detail);
  }
  if (isSet(completions) && isSet(failed) && failed > completions) {
    errors.at("maxFailedIndexes").invalid(failed, "must be less than or equal to completions");
  }
  if (isSet(failed) && failed > many) {
    errors.at("maxFailedIndexes").invalid(failed, `must be less than or equal to ${many}`);
  }
  if (!isSet(completions) || completions <= many || !isSet(backoffLimitPerIndex)) return;
  if (!isSet(failed)) {
    errors.at("maxFailedIndexes").required(`must be specified when completions is above ${many}`);
  }
  const limit = `must be less than or equal to ${manyAtOnce} when completions are above ${many} and used with backoff limit per index`;
  if (isSet(parallelism) && parallelism > manyAtOnce) errors.at("parallelism").invalid(parallelism, limit);
  if (isSet(failed) && failed > manyAtOnce) errors.at("maxFailedIndexes").invalid(failed, limit);
}

/** Checks that a job and a template of jobs share. */
export function checkJobTemplate(errors: FieldErrors, spec: JobSpec, context: ValidationContext): void {
  for (const name of [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
  ] as const) {
    errors.at(name).notNegative(spec[name]);
  }
  if (isSet(spec.maxFailedIndexes) && !isSet(spec.backoffLimitPerIndex)) {
    errors.at("backoffLimitPerIndex").required("when maxFailedIndexes is specified");
  }
  if (isSet(spec.managedBy)) {
    checkDomainPath(errors.at("managedBy"), spec.managedBy);
    if (byteLength(spec.managedBy) > maxManagerLength) errors.at("managedBy").tooLong(maxManagerLength);
  }
  const mode = spec.completionMode ?? "NonIndexed";
  if (!["NonIndexed", "Indexed"].includes(mode)) {
    errors.at("completionMode").notSupported(mode, ["NonIndexed", "Indexed"]);
  }
  if (mode === "Indexed") checkIndexed(errors, spec);
  else if (mode === "NonIndexed") {
    for (const name of ["backoffLimitPerIndex", "maxFailedIndexes"] as const) {
      if (isSet(spec[name])) errors.at(name).invalid(spec[name], "requires indexed completion mode");
    }
  }
  if (spec.podFailurePolicy) checkFailurePolicy(errors.at("podFailurePolicy"), spec);
  if (spec.successPolicy) {
    if (mode === "Indexed") checkSuccessPolicy(errors.at("successPolicy"), spec);
    else {
      const printed = internalForm("batch/v1.SuccessPolicy", spec.successPolicy, errors);
      errors.at("successPolicy").invalid(printed, "requires indexed completion mode");
    }
  }
  const replacement = spec.podReplacementPolicy;
  const replacements = spec.podFailurePolicy ? ["Failed"] : ["Failed", "TerminatingOrFailed"];
  if (isSet(replacement) && !replacements.includes(replacement)) {
    errors.at("podReplacementPolicy").notSupported(replacement, replacements);
  }
  checkTemplate(errors.at("template"), spec.template, context);
  const restart = spec.template?.spec?.restartPolicy ?? "";
  const here = errors.at("template.spec.restartPolicy");
  if (restart === "" || restart === "Always") here.required('valid values: "OnFailure", "Never"');
  else if (restart !== "OnFailure" && restart !== "Never") here.notSupported(restart, ["OnFailure", "Never"]);
  else if (spec.podFailurePolicy && restart !== "Never") {
    here.invalid(restart, 'only "Never" is supported when podFailurePolicy is specified');
  }
}

function checkSpec(errors: FieldErrors, spec: JobSpec, context: ValidationContext): void {
  checkJobTemplate(errors.at("spec"), spec, context);
  if (!spec.selector) errors.at("spec.selector").required();
  else checkLabelSelector(errors.at("spec.selector"), spec.selector);
  if (spec.selector) checkMatch(errors.at("spec.template"), spec.selector, spec.template);
  else {
    const detail = "`selector` does not match template `labels`";
    errors.at("spec.template.metadata.labels").invalid(shownLabels(spec.template?.metadata?.labels), detail);
  }
}

const prefix = "batch.kubernetes.io/";

/** The labels by which a job finds its pods are its own; `prefixed`: also those with Kubernetes' domain. */
function checkGenerated(errors: FieldErrors, { metadata, spec }: Job, prefixed: boolean): void {
  if (!spec || spec.manualSelector || !spec.selector) return;
  const own: Record<string, string> = { "controller-uid": metadata.uid, "job-name": metadata.name ?? "" };
  if (prefixed) {
    own[`${prefix}controller-uid`] = metadata.uid;
    own[`${prefix}job-name`] = metadata.name ?? "";
  }
  const labels = spec.template?.metadata?.labels;
  for (const [key, value] of Object.entries(own)) {
    const here = errors.at("spec.template.metadata.labels");
    const found = labels?.[key];
    if (found === undefined) here.key(key).required(`must be '${value}'`);
    else if (found !== value) {
      here.key(key).invalid(shownLabels(labels), `must be '${value}'`);
    }
  }
  if (selects(spec.selector, own) === false) {
    errors.at("spec.selector").invalid(shownSelector(spec.selector), "`selector` not auto-generated");
  }
}

const emptySpec: JobSpec = { template: { spec: { containers: [] } } };

function checkJob(errors: FieldErrors, job: Job, context: ValidationContext, old?: Job): void {
  checkObject(errors, job);
  const spec = job.spec ?? emptySpec;
  const labels = old?.spec?.template?.metadata?.labels ?? {};
  const prefixed = ["job-name", "controller-uid"].every((name) => Object.hasOwn(labels, `${prefix}${name}`));
  checkGenerated(errors, job, old === undefined || prefixed);
  checkSpec(errors, spec, context);
  checkNameOfLast(errors, job);
}

/** The hostname of an indexed job's last pod is made of the job's name. */
function checkNameOfLast(errors: FieldErrors, job: Job): void {
  const spec = job.spec ?? emptySpec;
  if (spec.completionMode !== "Indexed" || !isSet(spec.completions) || spec.completions <= 0) return;
  const last = `${job.metadata.name ?? ""}-${spec.completions - 1}`;
  if (dnsLabel(last).length > 0) {
    const detail = `will not able to create pod with invalid DNS label: ${last}`;
    errors.at("metadata.name").invalid(job.metadata.name ?? "", detail);
  }
}

/** The old template with what a suspended job may change as it is now. */
function withSchedulingOf(old: PodTemplateSpec, now: PodTemplateSpec): PodTemplateSpec {
  const { affinity, ...rest } = old.spec ?? { containers: [] };
  const { nodeAffinity: _old, ...others } = affinity ?? {};
  const node = now.spec?.affinity?.nodeAffinity;
  const kept = { ...others, ...(node ? { nodeAffinity: node } : {}) };
  const spec: PodSpec = { ...rest };
  if (Object.keys(kept).length > 0 || (affinity && now.spec?.affinity)) spec.affinity = kept;
  for (const name of ["nodeSelector", "tolerations", "schedulingGates"] as const) {
    const value = now.spec?.[name];
    if (value === undefined) delete spec[name];
    else Object.assign(spec, { [name]: value });
  }
  const { labels, annotations, ...metadata } = old.metadata ?? {};
  return {
    ...old,
    metadata: {
      ...metadata,
      ...(now.metadata?.labels ? { labels: now.metadata.labels } : {}),
      ...(now.metadata?.annotations ? { annotations: now.metadata.annotations } : {}),
    },
    spec,
  };
}

/**
 * The old spec of the pods with the resources that its containers have now, as far as they are the same ones.
 */
function withResourcesOf(old: PodSpec, now: PodSpec | undefined): PodSpec {
  const merged = (before: readonly Container[], after: readonly Container[] | undefined): Container[] =>
    before.map((container, index) => {
      const other = after?.length === before.length ? after[index] : undefined;
      if (other?.name !== container.name) return container;
      const { resources: _, ...rest } = container;
      return other.resources === undefined ? rest : { ...rest, resources: other.resources };
    });
  const { initContainers } = old;
  return {
    ...old,
    containers: merged(old.containers ?? [], now?.containers),
    ...(initContainers ? { initContainers: merged(initContainers, now?.initContainers) } : {}),
  };
}

/** A suspended job may change where its pods run, and from 1.36 what they ask for (KEP-2926, KEP-5440). */
function checkTemplateUpdate(errors: FieldErrors, spec: JobSpec, old: Job, version: string): void {
  const before = old.spec ?? emptySpec;
  const { startTime, active, conditions } = old.status ?? {};
  const resources = version >= "1.36";
  const stopped = (conditions ?? []).some(({ type, status }) => type === "Suspended" && status === "True");
  const still = !startTime || (resources && stopped);
  const mutable = before.suspend === true && still && !(resources && active);
  const template = mutable ? withSchedulingOf(before.template, spec.template) : before.template;
  if (mutable && resources) {
    const pods = withResourcesOf(template.spec ?? { containers: [] }, spec.template?.spec);
    if (sameValue(spec.template?.spec, pods)) return;
    const printed = internalForm("core/v1.PodSpec", spec.template?.spec, errors);
    errors.at("spec.template.spec").invalid(printed, "field is immutable");
    return;
  }
  if (sameValue(spec.template, template)) return;
  const printed = internalForm("core/v1.PodTemplateSpec", spec.template, errors);
  errors.at("spec.template").invalid(printed, "field is immutable");
}

function checkUpdate(errors: FieldErrors, job: Job, old: Job, context: ValidationContext): void {
  const [spec, before] = [job.spec ?? emptySpec, old.spec ?? emptySpec];
  const { version } = context.features;
  checkObjectUpdate(errors, job, old);
  checkSpec(errors, spec, context);
  const { completions } = spec;
  if (spec.completionMode !== "Indexed") {
    checkImmutable(errors.at("spec.completions"), completions ?? null, before.completions);
  } else if (completions !== before.completions && isSet(completions) && completions !== spec.parallelism) {
    errors
      .at("spec.completions")
      .invalid(completions, "can only be modified in tandem with spec.parallelism");
  }
  checkImmutable(errors.at("spec.selector"), spec.selector, before.selector, () =>
    shownSelector(spec.selector),
  );
  checkTemplateUpdate(errors, spec, old, version);
  const types = {
    completionMode: "string",
    podFailurePolicy: "batch/v1.PodFailurePolicy",
    backoffLimitPerIndex: "int32",
    managedBy: "string",
    successPolicy: "batch/v1.SuccessPolicy",
  } as const;
  for (const [name, type] of Object.entries(types)) {
    const key = name as keyof typeof types;
    const printed = (): unknown => internalForm(type, spec[key], errors);
    checkImmutable(errors.at("spec").at(name), spec[key], before[key], printed);
  }
}

export const jobValidation = {
  create(errors: FieldErrors, object: Job, context: ValidationContext): void {
    checkJob(errors, object, context);
  },
  update(errors: FieldErrors, object: Job, old: Job, context: ValidationContext): void {
    // Since 1.37 an update is not checked as if the job were new.
    const anew = context.features.version < "1.37";
    if (anew) checkJob(errors, object, context, old);
    checkUpdate(errors, object, old, context);
    if (!anew) checkNameOfLast(errors, object);
  },
};
