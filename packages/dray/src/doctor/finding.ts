import type { Features, KubeObject } from "@dray/api";
import type { PolicyRule } from "@dray/api/rbac/v1";
import type { World } from "../manifests/world.ts";
import { type Rule, type RuleId, rules } from "./rules.ts";

/** A cluster at one moment. */
export interface Snapshot {
  readonly world: World;
  readonly features: Features;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Undefined for manifests. */
  readonly server: ServerVersions | undefined;
  /**
   * Rights that service accounts of drivers lack, by user name, as the API server says; absent: it was not
   * asked, or the user may not ask.
   */
  readonly lackingRights?: ReadonlyMap<string, readonly PolicyRule[]>;
  /** The last lines of failing containers, by `logKey`, as far as they can be read. */
  readonly logs?: ReadonlyMap<string, string>;
}

export interface ServerVersions {
  /** `1.37` */
  readonly release: string;
  /** Versions of resource.k8s.io. */
  readonly served: readonly string[];
  /** The newest version that has DeviceTaintRules; undefined: none. */
  readonly taintRules?: string | undefined;
}

export interface ObjectName {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** A problem, as data. */
export interface Finding {
  readonly rule: RuleId;
  readonly severity: Rule["severity"];
  readonly object: ObjectName;
  readonly message: string;
  /** Evidence: fields and values. */
  readonly evidence: readonly string[];
  readonly consequence: string;
  /** Commands that fix it or investigate it further, in order. */
  readonly fix: readonly string[];
}

interface Details {
  readonly evidence?: readonly string[];
  readonly fix?: readonly string[];
  /** A warning, although others of the rule are errors. */
  readonly isMinor?: boolean;
}

/** Makes a finding about an object. */
export function finding(
  rule: RuleId,
  {
    kind,
    metadata,
  }: Pick<KubeObject, "kind"> & {
    readonly metadata: { readonly namespace?: string | undefined; readonly name: string };
  },
  message: string,
  { evidence = [], fix = [], isMinor = false }: Details,
): Finding {
  const { consequence } = rules[rule];
  const severity = isMinor ? "warning" : rules[rule].severity;
  const { namespace, name } = metadata;
  const object = { kind, ...(namespace !== undefined && { namespace }), name };
  return { rule, severity, object, message, evidence, consequence, fix };
}

/** `Pod default/a` */
export const labelOfName = ({ kind, namespace, name }: ObjectName): string =>
  `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;

/** Quotes a text as a word of a POSIX shell. */
export const word = (text: string): string =>
  /^[\w./:@=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** Returns a command: `kubectl delete pod a -n default`. */
export function kubectl(verb: string, { kind, metadata }: KubeObject, ...more: readonly string[]): string {
  const { namespace, name } = metadata;
  const where = namespace === undefined ? [] : ["-n", namespace];
  const words = ["kubectl", verb, kind.toLowerCase(), name, ...where, ...more];
  return words.map(word).join(" ");
}

/** Returns the command for a JSON patch; `subresource` as kubectl names it. */
export function jsonPatch(object: KubeObject, patch: readonly object[], subresource?: string): string {
  const more = subresource === undefined ? [] : [`--subresource=${subresource}`];
  return kubectl("patch", object, ...more, "--type=json", "-p", JSON.stringify(patch));
}
