import { invalid, minorOf, quoted } from "@dray/api";
import type { Namespace, Pod, PodTemplateSpec } from "@dray/api/core/v1";
import { forbidden } from "../../errors/status.ts";
import { deepEqual } from "../../storage/json.ts";
import { objectKey } from "../../storage/keys.ts";
import type { AdmissionPlugin, AdmissionRequest } from "../admission.ts";
import type { AdmissionContext } from "../context.ts";
import type { Violation } from "./check.ts";
import { violations } from "./checks.ts";
import { isStricter, type LevelVersion, type Policy, policyOf, policyText } from "./policy.ts";

type Template = Partial<Pick<PodTemplateSpec, "metadata" | "spec">>;

/** Paths of the pod templates of kinds that create pods. */
const templates: Readonly<Record<string, readonly string[] | undefined>> = {
  "/podtemplates": ["template"],
  "/replicationcontrollers": ["spec", "template"],
  "apps/replicasets": ["spec", "template"],
  "apps/deployments": ["spec", "template"],
  "apps/statefulsets": ["spec", "template"],
  "apps/daemonsets": ["spec", "template"],
  "batch/jobs": ["spec", "template"],
  "batch/cronjobs": ["spec", "jobTemplate", "spec", "template"],
};
/** Subresources of a pod that change its spec. */
const evaluated = new Set(["", "ephemeralcontainers", "resize"]);
/** Maximum number of pods that are checked when their namespace becomes stricter. */
const maxPods = 3000;

/** Enforces the Pod Security Standard in the labels of the namespace (KEP-2579). */
export function podSecurity({ storage, features }: AdmissionContext): AdmissionPlugin {
  const newest = minorOf(features.version);
  const violate = ({ level, minor }: LevelVersion, template: Template): Violation[] =>
    template.spec === undefined
      ? []
      : violations(level, Math.min(minor ?? newest, newest), {
          spec: template.spec,
          ...(template.metadata ? { metadata: template.metadata } : {}),
        });

  const policyFor = (namespace: string): Policy => {
    const found = storage.cache("namespaces").get(objectKey("namespaces", "", namespace));
    return policyOf(found?.object.metadata.labels);
  };

  function checkPod(request: AdmissionRequest): void {
    const pod = request.object as Pod;
    if (request.operation === "UPDATE" && !changesImages(pod, request.old as Pod)) return;
    const policy = policyFor(request.namespace);
    const found = violate(policy.enforce, pod);
    if (found.length > 0) {
      const why = `violates PodSecurity ${quoted(policyText(policy.enforce))}: ${detailOf(found)}`;
      throw forbidden(request.served, request.name, why);
    }
    warn(request, policy.warn, violate(policy.warn, pod));
  }

  function checkNamespace(request: AdmissionRequest): void {
    const namespace = request.object as Namespace;
    const policy = policyOf(namespace.metadata.labels);
    const old = request.old && policyOf(request.old.metadata.labels);
    if (policy.errors.length > 0 && !deepEqual(policy.errors, old?.errors))
      throw invalid({ group: "", kind: "Namespace" }, request.name, [...policy.errors]);
    const { enforce } = policy;
    if (old === undefined || enforce.level === "privileged" || deepEqual(enforce, old.enforce)) return;
    if (enforce.minor === old.enforce.minor && !isStricter(enforce, old.enforce)) return;
    const cache = storage.cache("pods");
    const byReason = new Map<string, string[]>();
    let checked = 0;
    for (const { object } of cache.range(`${cache.prefix}${namespace.metadata.name}/`)) {
      if (++checked > maxPods) break;
      const found = violate(enforce, object as Pod);
      if (found.length === 0) continue;
      const reason = found.map((each) => each.reason).join(", ");
      byReason.set(reason, [...(byReason.get(reason) ?? []), object.metadata.name]);
    }
    if (byReason.size === 0) return;
    request.warn(
      `existing pods in namespace ${quoted(namespace.metadata.name)} violate the new PodSecurity enforce level ${quoted(policyText(enforce))}`,
    );
    const texts = [...byReason].map(([reason, [first, ...more]]) => {
      const others = more.length === 1 ? "1 other pod" : `${more.length} other pods`;
      return `${first}${more.length > 0 ? ` (and ${others})` : ""}: ${reason}`;
    });
    for (const text of texts.sort()) request.warn(text);
  }

  return {
    validate(request) {
      const { served, subresource, operation, object } = request;
      if ((operation !== "CREATE" && operation !== "UPDATE") || object === undefined) return;
      const resource = `${served.group}/${served.resource}`;
      if (resource === "/pods") {
        if (evaluated.has(subresource)) checkPod(request);
        return;
      }
      if (subresource !== "") return;
      if (resource === "/namespaces") {
        checkNamespace(request);
        return;
      }
      const path = templates[resource];
      if (path === undefined) return;
      const policy = policyFor(request.namespace);
      if (policy.warn.level === "privileged") return;
      let template: unknown = object;
      for (const field of path) template = (template as Record<string, unknown> | undefined)?.[field];
      if (template) warn(request, policy.warn, violate(policy.warn, template as Template));
    },
  };
}

function warn(request: AdmissionRequest, level: LevelVersion, found: readonly Violation[]): void {
  if (found.length === 0) return;
  request.warn(`would violate PodSecurity ${quoted(policyText(level))}: ${detailOf(found)}`);
}

function detailOf(found: readonly Violation[]): string {
  return found.map(({ reason, detail }) => `${reason} (${detail})`).join(", ");
}

/** Reports whether an update changes the images of a pod; other updates are not checked. */
function changesImages({ spec }: Pod, { spec: old }: Pod): boolean {
  const images = (from: Pod["spec"]): string[] =>
    [...(from?.initContainers ?? []), ...(from?.containers ?? []), ...(from?.ephemeralContainers ?? [])].map(
      ({ name, image }) => `${name} ${image}`,
    );
  return !deepEqual(images(spec), images(old));
}
