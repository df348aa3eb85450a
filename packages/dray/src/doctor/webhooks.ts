import type { KubeObject } from "@dray/api";
import type { Service } from "@dray/api/core/v1";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { type Finding, finding, kubectl, type Snapshot, word } from "./finding.ts";
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
    const down = webhook.service && downText(webhook.service, world);
    const failed = failedCalls(name, snapshot);
    if (down === undefined && failed.length === 0) return [];
    const evidence = [
      ...(down === undefined ? [] : [down.why]),
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
  readonly why: string;
  /** Returns the commands; `owner` configures the webhook. */
  readonly fix: (owner: KubeObject) => string[];
}

/** Returns why nothing answers behind a Service; undefined: something is ready. */
function downText(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  world: World,
): Down | undefined {
  const service = world.find("Service", `${namespace}/${name}`);
  if (service === undefined)
    return {
      why: `there is no Service ${namespace}/${name}`,
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
  return {
    why: `Service ${nameOf(service)} ${text}`,
    fix: () => [...podCommands(service), kubectl("describe", service)],
  };
}

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
