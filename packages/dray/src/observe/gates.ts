import {
  FeatureError,
  type FeatureGate,
  type Features,
  featuresOf,
  isFeatureGate,
  type KubeObject,
  type KubernetesVersion,
  parseFeatureGates,
  StatusError,
} from "@dray/api";
import { kindOf } from "@dray/api/codec";
import type { Pod } from "@dray/api/core/v1";
import { disabledFields } from "@dray/api/validation";
import { gateOfKind } from "@dray/apiserver/objects";
import type { DiscoveredKind } from "@dray/client";
import type { Connection } from "../connection/connect.ts";
import { appliedObject } from "../manifests/last-applied.ts";
import type { Located } from "../manifests/place.ts";
import { worldKind } from "../manifests/world.ts";

/** The state of a feature gate of a cluster, and how it is known. */
export interface FoundGate {
  readonly gate: string;
  readonly enabled: boolean;
  /** `/metrics`, `the command line of Pod kube-system/kube-apiserver-a`. */
  readonly source: string;
}

/**
 * Reads the gates that the API server reports; undefined without the right to get /metrics.
 * Upstream: component-base/metrics/prometheus/feature, kubernetes_feature_enabled.
 */
export async function gatesOfMetrics({ client }: Connection): Promise<FoundGate[] | undefined> {
  let text: string;
  try {
    text = await client.text("GET", "/metrics");
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
  const found = text.matchAll(/^kubernetes_feature_enabled\{([^}]*)\} ([01])$/gm);
  return [...found].flatMap(([, labels = "", value]) => {
    const gate = /(?:^|,)name="([^"]*)"/.exec(labels)?.[1];
    return gate === undefined ? [] : [{ gate, enabled: value === "1", source: "/metrics" }];
  });
}

/** A kind behind a gate is served only if the gate is on. */
export function gatesOfKinds(kinds: readonly DiscoveredKind[]): FoundGate[] {
  return kinds.flatMap(({ group, version, kind }) => {
    const row = kindOf(group, version, kind);
    const gate = row && gateOfKind(row);
    return gate === undefined
      ? []
      : [{ gate, enabled: true, source: `it serves ${kind} (${group}/${version})` }];
  });
}

/** The annotation of a pod that a kubelet runs from a file (static pod). */
const mirror = "kubernetes.io/config.mirror";
/**
 * The components whose gates decide about objects and their placement; the names of kubeadm's static pods.
 */
const components: ReadonlySet<string> = new Set(["kube-apiserver", "kube-scheduler"]);

/** A component of the control plane that runs as a static pod, with its command line. */
interface ComponentPod {
  readonly name: string;
  readonly component: string;
  readonly flag: (name: string) => string | undefined;
}

function componentPods(objects: readonly Located[]): ComponentPod[] {
  return objects.flatMap(({ object }): ComponentPod[] => {
    const { kind, metadata } = object;
    const isStatic = kind === "Pod" && metadata.namespace === "kube-system" && metadata.annotations?.[mirror];
    if (!isStatic) return [];
    return ((object as Pod).spec.containers ?? []).flatMap(({ name: component, command = [], args = [] }) => {
      if (!components.has(component)) return [];
      const line = [...command, ...args];
      const flag = (name: string): string | undefined => flagOf(line, `--${name}`);
      return [{ name: `Pod ${metadata.namespace}/${metadata.name}`, component, flag }];
    });
  });
}

/** `--name=value` or `--name value`. */
function flagOf(line: readonly string[], name: string): string | undefined {
  const at = line.findLastIndex((word) => word === name || word.startsWith(`${name}=`));
  const word = line[at];
  return word === undefined || word === name ? line[at + 1] : word.slice(name.length + 1);
}

/** Reads the gates in the command lines of the control plane, where it runs as static pods. */
export function gatesOfCommandLines(objects: readonly Located[]): FoundGate[] {
  return componentPods(objects).flatMap(({ name, flag }) => {
    try {
      const gates = parseFeatureGates(flag("feature-gates") ?? "");
      return [...gates].map(([gate, enabled]) => ({ gate, enabled, source: `the command line of ${name}` }));
    } catch (error) {
      if (!(error instanceof FeatureError)) throw error;
      return [];
    }
  });
}

/** Returns the configuration file that kube-scheduler names on its command line; undefined: it names none. */
export function schedulerConfigPath(
  objects: readonly Located[],
): { readonly pod: string; readonly path: string } | undefined {
  for (const { component, name, flag } of componentPods(objects)) {
    const path = component === "kube-scheduler" ? flag("config") : undefined;
    if (path !== undefined) return { pod: name, path };
  }
  return undefined;
}

/** Kinds whose spec does not change, so that a field of it that was applied and is not stored was dropped. */
const immutable: ReadonlySet<string> = new Set(["ResourceClaim", "ResourceClaimTemplate"]);

/**
 * Finds gates by the fields of stored objects: a field that is stored had its gate on; one that kubectl has
 * applied and that is not stored was dropped, since its gate was off.
 */
export function gatesOfFields(objects: readonly Located[], features: Features): FoundGate[] {
  const found = new Map<FeatureGate, FoundGate>();
  const set = (gates: Iterable<FeatureGate>, enabled: boolean, source: string): void => {
    for (const gate of gates)
      if (features.enabled(gate) !== enabled && !found.has(gate)) found.set(gate, { gate, enabled, source });
  };
  const none: Features = { ...features, enabled: () => false };
  for (const { object } of objects) {
    const label = `${object.kind} ${object.metadata.name}`;
    set(gatesIn(object, features), true, `a field of ${label}`);
    if (!immutable.has(object.kind)) continue;
    const applied = appliedObject(object);
    if (applied === undefined) continue;
    const stored = gatesIn(object, none);
    const dropped = [...gatesIn(applied, none)].filter((gate) => !stored.has(gate));
    set(dropped, false, `a field that was applied to ${label} and is not stored`);
  }
  return [...found.values()];
}

/** Returns the gates of the fields of an object that are off. */
function gatesIn(object: KubeObject, features: Features): ReadonlySet<FeatureGate> {
  const row = worldKind(object);
  if (row === undefined) return new Set();
  return new Set(disabledFields(row, object, { features }).flatMap(({ gates }) => gates));
}

/**
 * Returns the features of a release with the gates that a cluster shows; the first source of a gate counts.
 * Leaves out gates that the release does not have. `flag`: `--feature-gates` of the user, which comes first.
 */
export function featuresFrom(
  version: KubernetesVersion,
  found: readonly FoundGate[],
  flag: ReadonlyMap<string, boolean>,
): { readonly features: Features; readonly used: readonly FoundGate[] } {
  const gates = new Map(flag);
  let features = featuresOf(version, gates);
  const used: FoundGate[] = [];
  // A gate may need another one that is found later.
  let left = found.filter(
    ({ gate }, i) => !gates.has(gate) && found.findIndex((one) => one.gate === gate) === i,
  );
  for (let count = -1; count !== left.length; ) {
    count = left.length;
    left = left.filter((each) => {
      const { gate, enabled } = each;
      if (isFeatureGate(gate) && features.states.get(gate) === enabled) return false;
      const next = featuresWith(version, gates, each);
      if (next === undefined) return true;
      gates.set(gate, enabled);
      features = next;
      if (isFeatureGate(gate)) used.push(each);
      return false;
    });
  }
  return { features, used };
}

function featuresWith(
  version: KubernetesVersion,
  gates: ReadonlyMap<string, boolean>,
  { gate, enabled }: FoundGate,
): Features | undefined {
  if (!isFeatureGate(gate) && gate !== "AllAlpha" && gate !== "AllBeta") return undefined;
  try {
    return featuresOf(version, new Map([...gates, [gate, enabled]]));
  } catch (error) {
    if (error instanceof FeatureError) return undefined;
    throw error;
  }
}
