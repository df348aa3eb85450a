import { apiVersionOf, type KubeObject, timeText } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import type { NodeMetrics, PodMetrics } from "@dray/api/metrics/v1beta1";
import type { ApiResponse } from "@dray/client";
import { accepted } from "../encoding/accepted.ts";
import { listResponse, objectResponse, resourceForms } from "../encoding/representation.ts";
import { notFound } from "../errors/status.ts";
import { listOptions } from "../request/options.ts";
import { type Usage, usageQuantities, windowText } from "../resource-metrics/usage.ts";
import { objectKey, registryPrefix } from "../storage/keys.ts";
import { type Context, representation } from "./context.ts";
import { selectionOf } from "./select.ts";

/** How one resource of metrics.k8s.io is computed from stored objects. */
interface Source {
  /** The stored resource. */
  readonly resource: string;
  /** Name of the resource in NotFound messages: upstream reads nodes and pods by different listers. */
  readonly missing: string;
  readonly metrics: (context: Context, object: KubeObject) => NodeMetrics | PodMetrics | undefined;
}

const nodes: Source = {
  resource: "nodes",
  missing: "node",
  metrics(context, object) {
    const { name, labels } = (object as Node).metadata;
    const usage = context.usage.node(name)?.node;
    if (usage === undefined) return undefined;
    return {
      kind: "NodeMetrics",
      apiVersion: apiVersionOf(context.served),
      metadata: metadataOf(context, { name, ...(labels && { labels }) }),
      ...intervalOf(usage),
      usage: usageQuantities(usage),
    } as NodeMetrics;
  },
};

const pods: Source = {
  resource: "pods",
  missing: "pods",
  metrics(context, object) {
    const { metadata, spec } = object as Pod;
    const { name, namespace, labels } = metadata;
    const usages = context.usage.node(spec.nodeName ?? "")?.pod(`${namespace}/${name}`);
    // The interval is that of the container that was measured first.
    const [first] = [...(usages?.values() ?? [])].sort((one, other) => one.at - other.at);
    if (usages === undefined || first === undefined) return undefined;
    return {
      kind: "PodMetrics",
      apiVersion: apiVersionOf(context.served),
      metadata: metadataOf(context, { name, namespace, ...(labels && { labels }) }),
      ...intervalOf(first),
      containers: [...usages].map(([container, usage]) => ({
        name: container,
        usage: usageQuantities(usage),
      })),
    } as PodMetrics;
  },
};

/**
 * Handles GET of `nodes` and `pods` of metrics.k8s.io: computed from the reports of kubelets. Objects without
 * usage are omitted from lists, and not found.
 *
 * Upstream: metrics-server, pkg/api/node.go, pkg/api/pod.go
 */
export async function resourceMetrics(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const source = served.resource === "nodes" ? nodes : pods;
  const encoding = accepted(context, resourceForms);
  const [, name] = info.parts;
  if (name !== undefined) {
    const key = objectKey(source.resource, info.namespace, name);
    const cache = registry.storage.cache(source.resource);
    if (cache.get(key) === undefined) throw notFound({ group: "", resource: source.missing }, name);
    await context.usage.refresh();
    const stored = cache.get(key)?.object;
    const found = stored && source.metrics(context, stored);
    const path = served.namespaced ? `${info.namespace}/${name}` : name;
    if (found === undefined)
      throw notFound({ group: served.group, resource: served.kind.toLowerCase() }, path);
    return objectResponse(200, found, representation(context, encoding));
  }
  const selection = selectionOf(served, listOptions(info.query, false));
  await context.usage.refresh();
  const namespace = served.namespaced && info.namespace !== "" ? `${info.namespace}/` : "";
  const prefix = `${registryPrefix}${source.resource}/${namespace}`;
  const items = [...registry.storage.cache(source.resource).range(prefix)].flatMap(({ object }) => {
    const made = selection.matches(object) ? source.metrics(context, object) : undefined;
    return made === undefined ? [] : [made];
  });
  const list = { kind: served.listKind, apiVersion: apiVersionOf(served), metadata: {}, items };
  return listResponse(list, representation(context, encoding));
}

/** The usage is computed on request; it has no resourceVersion. */
function metadataOf({ clock }: Context, metadata: Readonly<Record<string, unknown>>): object {
  return { ...metadata, creationTimestamp: timeText(clock.now()) };
}

const intervalOf = (usage: Usage): { readonly timestamp: string; readonly window: string } => ({
  timestamp: timeText(usage.at),
  window: windowText(usage),
});
