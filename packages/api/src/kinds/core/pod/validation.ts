import type { ValidationContext } from "../../../checks/context.ts";
import { type FieldErrors, goJson, printedList, sameValue } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import { atOnce } from "../../../checks/step.ts";
import { unifiedDiff } from "../../../checks/unified-diff.ts";
import type { Features } from "../../../features/features.ts";
import type { Container, NodeAffinity, Pod, PodSpec, Toleration } from "../../../generated/core/v1.ts";
import { dnsSubdomain } from "../../../values/names.ts";
import {
  checkAppArmorMatch,
  checkPodAnnotations,
  checkPodAnnotationsUpdate,
  mirrorAnnotation,
} from "./annotations.ts";
import { allowsComparisons, checkTolerations } from "./scheduling.ts";
import { checkPodSpec } from "./spec.ts";

const emptySpec: PodSpec = { containers: [] };

/** Checks that apply to a pod on create and on every update. */
export function checkPod(errors: FieldErrors, pod: Pod, context: ValidationContext): void {
  checkMetadata(errors.at("metadata"), pod.metadata, dnsSubdomain, true);
  checkFinalizerNames(errors.at("metadata"), pod.metadata);
  const spec = pod.spec ?? emptySpec;
  checkPodAnnotations(errors.at("metadata.annotations"), pod.metadata.annotations, spec);
  if (pod.metadata.annotations?.[mirrorAnnotation] !== undefined) {
    for (const _ of spec.resourceClaims ?? [])
      errors.key("").forbidden("static pods do not support resource claims");
  }
  checkPodSpec(errors.at("spec"), spec, context, pod.metadata.name ?? "");
  checkOnlyPod(errors, spec);
}

/** Rejects values that are allowed in templates but not in pods. */
function checkOnlyPod(errors: FieldErrors, spec: PodSpec): void {
  if (!spec.serviceAccountName) {
    (spec.volumes ?? []).forEach(({ projected }, index) => {
      (projected?.sources ?? []).forEach(({ serviceAccountToken }, place) => {
        if (!serviceAccountToken) return;
        const here = errors
          .at("spec.volumes")
          .index(index)
          .at("projected.sources")
          .index(place)
          .at("serviceAccountToken");
        here.forbidden("must not be specified when serviceAccountName is not set");
      });
    });
  }
  for (const name of ["containers", "initContainers"] as const) {
    (spec[name] ?? []).forEach(({ image = "" }, index) => {
      if (image === image.trim()) return;
      const detail = "must not have leading or trailing whitespace";
      errors.at("spec").at(name).index(index).at("image").invalid(image, detail);
    });
  }
}

export function checkPodCreate(errors: FieldErrors, pod: Pod, context: ValidationContext): void {
  checkPod(errors, pod, context);
  const { spec } = pod;
  if ((spec?.ephemeralContainers ?? []).length > 0)
    errors.at("spec.ephemeralContainers").forbidden("cannot be set on create");
  if (spec?.nodeName && (spec.schedulingGates ?? []).length > 0) {
    errors.at("spec.nodeName").forbidden("cannot be set until all schedulingGates have been cleared");
  }
  checkAppArmorMatch(errors, pod);
}

/** Gates may go and none may come (KEP-3521). */
function checkGatesUpdate(errors: FieldErrors, spec: PodSpec, old: PodSpec): void {
  const before = new Set((old.schedulingGates ?? []).map(({ name }) => name));
  const last = new Map((spec.schedulingGates ?? []).map(({ name }, index) => [name, index]));
  for (const [gate, index] of last) {
    if (before.has(gate)) continue;
    const detail = `only deletion is allowed, but found new scheduling gate '${gate}'`;
    errors.at("spec.schedulingGates").index(index).at("name").forbidden(detail);
  }
}

/** Tolerations may be added, and nothing else but the seconds of one changed. */
function checkTolerationsUpdate(errors: FieldErrors, spec: PodSpec, old: PodSpec, features: Features): void {
  const fixed = ({ key, operator, value, effect }: Toleration): string =>
    JSON.stringify([key ?? null, operator ?? null, value ?? null, effect ?? null]);
  const now = new Set((spec.tolerations ?? []).map(fixed));
  const kept = (old.tolerations ?? []).every((toleration) => now.has(fixed(toleration)));
  if (!kept) {
    errors
      .at("spec.tolerations")
      .forbidden("existing toleration can not be modified except its tolerationSeconds");
    return;
  }
  checkTolerations(errors.at("spec.tolerations"), spec, allowsComparisons(features));
}

const changeable = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

/** False where what is wrong hides all else. */
function checkDeadline(errors: FieldErrors, spec: PodSpec, old: PodSpec): boolean {
  const [now, before] = [spec.activeDeadlineSeconds, old.activeDeadlineSeconds];
  const here = errors.at("spec.activeDeadlineSeconds");
  const known = before !== undefined && before !== null;
  if (now === undefined || now === null) {
    if (known) here.invalid(null, "must not update from a positive integer to nil value");
    return true;
  }
  const count = errors.list.length;
  if (now < 0 || now > 2 ** 31 - 1) here.invalid(now, "must be between 0 and 2147483647, inclusive");
  else if (known && now > before) here.invalid(now, "must be less than or equal to previous value");
  return errors.list.length === count;
}

/** The new spec with all that may change as it was before. */
function withOldChangeables({ provenance }: FieldErrors, spec: PodSpec, old: PodSpec): PodSpec {
  const grace = old.terminationGracePeriodSeconds;
  const images = (name: "containers" | "initContainers"): Container[] =>
    (spec[name] ?? []).map((container, index) =>
      provenance.keepEmpty(withField(container, "image", old[name]?.[index]?.image), container),
    );
  let munged: PodSpec = { ...spec, containers: images("containers") };
  if (spec.initContainers) munged.initContainers = images("initContainers");
  munged = provenance.keepEmpty(munged, spec);
  for (const name of ["activeDeadlineSeconds", "schedulingGates", "tolerations"] as const) {
    munged = provenance.keepEmpty(withField(munged, name, old[name]), munged);
    provenance.forgetEmpty(munged, name);
  }
  if (grace !== undefined && grace < 0 && spec.terminationGracePeriodSeconds === 1) {
    munged.terminationGracePeriodSeconds = grace;
  }
  return munged;
}

function withField<T extends object, K extends keyof T>(object: T, name: K, value: T[K] | undefined): T {
  const { [name]: _old, ...rest } = object;
  return (value === undefined ? rest : { ...object, [name]: value }) as T;
}

/** A pod with gates may narrow down its nodes (KEP-3838); then these fields count as unchanged. */
function checkGatedPlacement(errors: FieldErrors, munged: PodSpec, old: PodSpec): void {
  if (!sameValue(munged.nodeSelector, old.nodeSelector)) {
    for (const [key, value] of Object.entries(old.nodeSelector ?? {})) {
      if (munged.nodeSelector?.[key] === value) continue;
      errors
        .at("spec.nodeSelector")
        .invalid(munged.nodeSelector ?? null, "only additions are allowed (no mutations or deletions)");
      break;
    }
    if (old.nodeSelector === undefined) delete munged.nodeSelector;
    else munged.nodeSelector = old.nodeSelector;
  }
  const [now, before] = [munged.affinity?.nodeAffinity, old.affinity?.nodeAffinity];
  if (sameValue(now, before)) return;
  checkNarrowedAffinity(errors, now, before);
  const { nodeAffinity: _now, ...others } = munged.affinity ?? {};
  const affinity = before === undefined ? others : { ...others, nodeAffinity: before };
  if (Object.keys(affinity).length > 0) munged.affinity = affinity;
  else delete munged.affinity;
}

const required = "requiredDuringSchedulingIgnoredDuringExecution";

function checkNarrowedAffinity(
  errors: FieldErrors,
  now: NodeAffinity | undefined,
  before: NodeAffinity | undefined,
): void {
  const here = errors.at("spec.affinity.nodeAffinity").at(required);
  const old = before?.[required]?.nodeSelectorTerms;
  if (old === undefined) return;
  const given = now?.[required]?.nodeSelectorTerms;
  const terms = given ?? [];
  const type = "core/v1.NodeSelectorTerm";
  if (terms.length !== old.length) {
    here
      .at("nodeSelectorTerms")
      .invalid(
        internalForm(`[]${type}`, given, errors) ?? printedList(errors, now?.[required], "nodeSelectorTerms"),
        "no additions/deletions to non-empty NodeSelectorTerms list are allowed",
      );
    return;
  }
  old.forEach((term, index) => {
    const each = here.at("nodeSelectorTerms").index(index);
    const term2 = terms[index];
    const [expressions, fields] = [term.matchExpressions ?? [], term.matchFields ?? []];
    if (expressions.length + fields.length === 0) {
      if (sameValue(term, term2)) return;
      each.invalid(
        internalForm(type, term2, errors),
        "only NodeSelectorRequirements can be added to a non-empty NodeSelectorTerm",
      );
      return;
    }
    const kept =
      expressions.every((each, place) => sameValue(each, term2?.matchExpressions?.[place])) &&
      fields.every((each, place) => sameValue(each, term2?.matchFields?.[place]));
    if (!kept) {
      each.invalid(
        internalForm(type, term2, errors),
        "only additions are allowed (no mutations or deletions)",
      );
    }
  });
}

export function checkPodUpdate(errors: FieldErrors, pod: Pod, old: Pod, context: ValidationContext): void {
  checkMetadataUpdate(errors.at("metadata"), pod.metadata, old.metadata);
  checkFinalizerNames(errors.at("metadata"), pod.metadata);
  checkPod(errors, pod, context);
  checkPodAnnotationsUpdate(errors.at("metadata.annotations"), pod, old);
  const [spec, before] = [pod.spec ?? emptySpec, old.spec ?? emptySpec];
  for (const name of ["containers", "initContainers"] as const) {
    const containers = spec[name] ?? [];
    if (containers.length !== (before[name] ?? []).length) {
      errors.at("spec").at(name).forbidden("pod updates may not add or remove containers");
      return;
    }
    containers.forEach(({ image = "" }, index) => {
      if (image === "") errors.at("spec").at(name).index(index).at("image").required();
    });
  }
  if (!checkDeadline(errors, spec, before)) return;
  checkTolerationsUpdate(errors, spec, before, context.features);
  checkGatesUpdate(errors, spec, before);
  const munged = withOldChangeables(errors, spec, before);
  if ((before.schedulingGates ?? []).length > 0) checkGatedPlacement(errors, munged, before);
  const form = (value: PodSpec): unknown => internalForm("core/v1.PodSpec", value, errors);
  if (sameValue(munged, before)) return;
  const { step = atOnce } = context;
  const printed = (value: PodSpec): string => step(() => goJson(form(value), 1));
  const [from, to] = [printed(before), printed(munged)];
  const difference = step(() => unifiedDiff(from, to));
  errors.at("spec").forbidden(`pod updates may not change fields other than ${changeable}\n${difference}`);
}
