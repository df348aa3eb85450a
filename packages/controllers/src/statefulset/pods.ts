import type { StatefulSet } from "@dray/api/apps/v1";
import type { PersistentVolumeClaim, Pod, PodTemplateSpec, Volume } from "@dray/api/core/v1";
import { revisionHash } from "../history/revisions.ts";

const podNameLabel = "statefulset.kubernetes.io/pod-name";
const podIndexLabel = "apps.kubernetes.io/pod-index";
const maxInt32 = 2 ** 31 - 1;

/** The number at the end of the name of a pod of this set; undefined for other pods. */
export function ordinalOf(set: StatefulSet, pod: Pod): number | undefined {
  const [, parent, digits] = /^(.*)-([0-9]+)$/.exec(pod.metadata.name) ?? [];
  const ordinal = Number(digits);
  return parent === set.metadata.name && ordinal <= maxInt32 ? ordinal : undefined;
}

/** The first ordinal of a set, and the one after its last. */
export function ordinalsOf({ spec }: StatefulSet): { readonly start: number; readonly end: number } {
  const start = spec.ordinals?.start ?? 0;
  return { start, end: start + (spec.replicas ?? 1) };
}

export function podNameOf(set: StatefulSet, ordinal: number): string {
  return `${set.metadata.name}-${ordinal}`;
}

/** Upstream: pkg/controller/statefulset/stateful_set_utils.go, getPersistentVolumeClaimName. */
export function claimNameOf(set: StatefulSet, template: PersistentVolumeClaim, ordinal: number): string {
  return `${template.metadata.name}-${set.metadata.name}-${ordinal}`;
}

/** The volume claims of one pod, as they are to be created. */
export function claimsFor(set: StatefulSet, ordinal: number) {
  const { selector, volumeClaimTemplates = [] } = set.spec;
  return volumeClaimTemplates.map((template) => {
    const { labels, annotations } = template.metadata;
    return {
      metadata: {
        namespace: set.metadata.namespace,
        name: claimNameOf(set, template, ordinal),
        labels: { ...labels, ...selector?.matchLabels },
        ...(annotations === undefined ? {} : { annotations }),
      },
      spec: template.spec,
    };
  });
}

function volumesFor(set: StatefulSet, ordinal: number, others: readonly Volume[]): Volume[] {
  const templates = set.spec.volumeClaimTemplates ?? [];
  const names = new Set(templates.map(({ metadata }) => metadata.name));
  return [
    ...templates.map((template) => ({
      name: template.metadata.name,
      persistentVolumeClaim: { claimName: claimNameOf(set, template, ordinal) },
    })),
    ...others.filter(({ name }) => !names.has(name)),
  ];
}

function identityLabels(set: StatefulSet, ordinal: number): Record<string, string> {
  return { [podNameLabel]: podNameOf(set, ordinal), [podIndexLabel]: String(ordinal) };
}

/** Labels and spec of the pod with this ordinal, made from the template of a revision. */
export function statefulPod(
  set: StatefulSet,
  ordinal: number,
  template: PodTemplateSpec,
  revision: string,
): PodTemplateSpec {
  const { serviceName } = set.spec;
  const volumes = volumesFor(set, ordinal, template.spec?.volumes ?? []);
  return {
    metadata: {
      ...template.metadata,
      name: podNameOf(set, ordinal),
      labels: {
        ...template.metadata?.labels,
        ...identityLabels(set, ordinal),
        [revisionHash]: revision,
      },
    },
    spec: {
      ...template.spec,
      containers: template.spec?.containers ?? [],
      hostname: podNameOf(set, ordinal),
      ...(serviceName ? { subdomain: serviceName } : {}),
      ...(volumes.length === 0 ? {} : { volumes }),
    },
  };
}

/** Returns an active pod with its identity restored if it was changed; otherwise undefined. */
export function repairedPod(set: StatefulSet, pod: Pod, ordinal: number): Pod | undefined {
  const volumes = volumesFor(set, ordinal, pod.spec.volumes ?? []);
  const claims = new Map(
    (pod.spec.volumes ?? []).map(({ name, persistentVolumeClaim: claim }) => [name, claim?.claimName]),
  );
  const stored = (set.spec.volumeClaimTemplates ?? []).every(
    (template) => claims.get(template.metadata.name) === claimNameOf(set, template, ordinal),
  );
  if (pod.metadata.labels?.[podNameLabel] === pod.metadata.name && stored) return undefined;
  const labels = { ...pod.metadata.labels, ...identityLabels(set, ordinal) };
  return {
    ...pod,
    metadata: { ...pod.metadata, labels },
    spec: { ...pod.spec, ...(stored ? {} : { volumes }) },
  };
}
