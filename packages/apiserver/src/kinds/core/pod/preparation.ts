import type { AppArmorProfile, Container, Pod, PodAffinityTerm } from "@dray/api/core/v1";
import type { LabelSelector } from "@dray/api/meta/v1";
import { deepEqual } from "../../../storage/json.ts";

/**
 * Takes the labels that a new pod names by key (`matchLabelKeys`, `mismatchLabelKeys`) into the selectors
 * beside them, in place: the scheduler looks at the selectors alone (KEP-3633, KEP-3243). A selector that is
 * not set stays so, as it matches nothing.
 */
export function mergeLabelKeys({ metadata, spec }: Pod): void {
  const labels = metadata.labels ?? {};
  for (const affinity of [spec?.affinity?.podAffinity, spec?.affinity?.podAntiAffinity]) {
    const terms: (PodAffinityTerm | undefined)[] = [
      ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
        (each) => each.podAffinityTerm,
      ),
      ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ];
    for (const term of terms) {
      demand(term?.labelSelector, term?.matchLabelKeys, "In", labels);
      demand(term?.labelSelector, term?.mismatchLabelKeys, "NotIn", labels);
    }
  }
  for (const { labelSelector, matchLabelKeys } of spec?.topologySpreadConstraints ?? [])
    demand(labelSelector, matchLabelKeys, "In", labels);
}

function demand(
  selector: LabelSelector | undefined,
  keys: readonly string[] | undefined,
  operator: "In" | "NotIn",
  labels: Readonly<Record<string, string>>,
): void {
  if (!selector) return;
  for (const key of keys ?? []) {
    if (!Object.hasOwn(labels, key)) continue;
    const values = [labels[key]!];
    selector.matchExpressions = [...(selector.matchExpressions ?? []), { key, operator, values }];
  }
}

const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";
/** Maximum size of the path of a profile, in bytes. */
const maxProfileBytes = 4095;

/**
 * Gives the containers of a new pod the AppArmor profiles that its annotations name, in place (KEP-24,
 * version skew); Calls `warn` for each annotation that is obsolete or cannot be read.
 */
export function takeAppArmorAnnotations(pod: Pod, warn: (text: string) => void): void {
  const { spec, metadata } = pod;
  if (!spec || spec.os?.name === "windows") return;
  const annotations = metadata.annotations ?? {};
  const containers = [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...((spec.ephemeralContainers ?? []) as Container[]),
  ];
  for (const container of containers) {
    const key = `${appArmorPrefix}${container.name}`;
    if (!Object.hasOwn(annotations, key) || container.securityContext?.appArmorProfile) continue;
    const profile = profileOf(annotations[key]!);
    if (profile && deepEqual(profile, spec.securityContext?.appArmorProfile)) continue;
    if (profile) container.securityContext = { ...container.securityContext, appArmorProfile: profile };
    warn(`metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`);
  }
}

/** Returns the profile of an annotation; undefined if a field cannot have that profile. */
function profileOf(annotation: string): AppArmorProfile | undefined {
  if (annotation === "unconfined") return { type: "Unconfined" };
  if (annotation === "runtime/default") return { type: "RuntimeDefault" };
  if (!annotation.startsWith("localhost/")) return undefined;
  const localhostProfile = annotation.slice("localhost/".length);
  const sound =
    localhostProfile !== "" &&
    localhostProfile.trim() === localhostProfile &&
    Buffer.byteLength(localhostProfile) <= maxProfileBytes;
  return sound ? { type: "Localhost", localhostProfile } : undefined;
}
