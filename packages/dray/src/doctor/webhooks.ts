import { type KubeObject, matchLabels } from "@dray/api";
import type { Pod, Service } from "@dray/api/core/v1";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { type Finding, finding, kubectl, type Snapshot, word } from "./finding.ts";
import { isLongUnready, troubleOf } from "./pod-troubles.ts";
import { isRecent, lastTime } from "./times.ts";

/** A webhook, and the Service that it is behind. */
interface Webhook {
  readonly owner: KubeObject;
  readonly name: string;
  readonly service: { readonly namespace: string; readonly name: string } | undefined;
  /** Failed calls do not count (failurePolicy Ignore). */
  readonly isIgnored: boolean;
}

/** Finds webhooks that cannot be reached: by their Services, and by what others report of them. */
export function checkWebhooks(snapshot: Snapshot): Finding[] {
  const { world } = snapshot;
  return webhooksOf(world).flatMap((webhook) => {
    const { owner, name, isIgnored } = webhook;
    const down = webhook.service && downText(webhook.service, snapshot);
    const failed = failedCalls(name, snapshot);
    if (down === undefined && failed.length === 0) return [];
    const evidence = [
      ...(down?.evidence ?? []),
      ...failed.map((message) => `an event says: ${message}`),
      `failurePolicy is ${isIgnored ? "Ignore" : "Fail"}`,
    ];
    const fix = down?.fix(owner) ?? [kubectl("get", owner, "-o", "yaml")];
    const message = `webhook ${name} ${down === undefined ? "fails" : "is down"}`;
    return [finding("webhook-down", owner, message, { evidence, fix, isMinor: isIgnored })];
  });
}

function webhooksOf(world: World): Webhook[] {
  const admission = world
    .all("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    .flatMap(({ object }) =>
      (object.webhooks ?? []).map(({ name, clientConfig, failurePolicy }) => ({
        owner: object,
        name,
        service: clientConfig.service,
        // The default of v1 is Fail.
        isIgnored: failurePolicy === "Ignore",
      })),
    );
  const conversion = world.all("CustomResourceDefinition").flatMap(({ object }) => {
    const { strategy, webhook } = object.spec.conversion ?? {};
    if (strategy !== "Webhook") return [];
    const name = `of conversion of ${object.spec.names.plural}.${object.spec.group}`;
    return [{ owner: object, name, service: webhook?.clientConfig?.service, isIgnored: false }];
  });
  return [...admission, ...conversion];
}

interface Down {
  readonly evidence: readonly string[];
  /** Returns the commands; `owner` configures the webhook. */
  readonly fix: (owner: KubeObject) => string[];
}

/** Returns why nothing answers behind a Service; undefined: something is ready. */
function downText(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  snapshot: Snapshot,
): Down | undefined {
  const { world } = snapshot;
  const service = world.find("Service", `${namespace}/${name}`);
  if (service === undefined)
    return {
      evidence: [`there is no Service ${namespace}/${name}`],
      // A configuration that a program has left when it was removed. A definition goes with all its objects.
      fix: (owner) => [
        `kubectl get services,deployments,pods -n ${namespace}`,
        kubectl(owner.kind === "CustomResourceDefinition" ? "edit" : "delete", owner),
      ],
    };
  if (service.spec.type === "ExternalName") return undefined;
  const endpoints = world
    .all("EndpointSlice")
    .filter(
      ({ object: { metadata } }) =>
        metadata.namespace === namespace && metadata.labels?.["kubernetes.io/service-name"] === name,
    )
    .flatMap(({ object }) => object.endpoints ?? []);
  // Unknown counts as ready (discovery/v1 EndpointConditions.ready).
  if (endpoints.some(({ conditions }) => conditions?.ready !== false)) return undefined;
  const text =
    endpoints.length === 0 ? "has no endpoints" : `has ${endpoints.length} endpoints, none of them ready`;
  const pods = unreadyPodsOf(service, snapshot);
  const troubles = pods.slice(0, maxPods).map((pod) => ({ pod, ...troubleOf(pod, snapshot) }));
  return {
    evidence: [
      `Service ${nameOf(service)} ${text}`,
      ...troubles.map(({ pod, text }) => `pod ${nameOf(pod)}: ${text}`),
    ],
    fix: () => [...(troubles[0]?.fix ?? podCommands(service)), kubectl("describe", service)],
  };
}

/** Maximum number of pods of a webhook whose reasons are shown. */
const maxPods = 2;

function unreadyPodsOf({ metadata, spec: { selector } }: Service, { world, now }: Snapshot): Pod[] {
  if (selector === undefined || Object.keys(selector).length === 0) return [];
  return world
    .all("Pod")
    .map(({ object }) => object)
    .filter(
      (pod) =>
        pod.metadata.namespace === metadata.namespace &&
        matchLabels(selector, pod.metadata.labels) &&
        isLongUnready(pod, now),
    );
}

/** Returns the pods behind webhooks that are not ready. */
export const unreadyWebhookPods = (snapshot: Snapshot): Pod[] =>
  webhooksOf(snapshot.world).flatMap(({ service }) => {
    const found = service && snapshot.world.find("Service", `${service.namespace}/${service.name}`);
    return found === undefined ? [] : unreadyPodsOf(found, snapshot);
  });

function podCommands({ metadata: { namespace }, spec: { selector } }: Service): string[] {
  const labels = Object.entries(selector ?? {}).map(([key, value]) => `${key}=${value}`);
  if (labels.length === 0) return [];
  const where = `-n ${namespace} -l ${word(labels.join(","))}`;
  return [`kubectl get pods ${where} -o wide`, `kubectl describe pods ${where}`];
}

/** Returns what controllers report of calls of a webhook. Upstream: apiserver, webhook.ErrCallingWebhook. */
function failedCalls(name: string, { world, now }: Snapshot): string[] {
  const messages = world.all("Event").flatMap(({ object }) => {
    const { message = "" } = object;
    const isAbout = message.includes(`failed calling webhook "${name}"`);
    return isAbout && isRecent(lastTime(object), now) ? message : [];
  });
  return [...new Set(messages)].slice(0, 1);
}
