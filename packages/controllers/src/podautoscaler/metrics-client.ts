import { labelSelectorOf, parseDuration, Quantity, StatusError, type Wire } from "@dray/api";
import type { CrossVersionObjectReference } from "@dray/api/autoscaling/v2";
import type { APIGroup, LabelSelector } from "@dray/api/meta/v1";
import { PodMetrics } from "@dray/api/metrics/v1beta1";
import { type Client, createRestMapper } from "@dray/client";
import { groupOf } from "../shared/owners.ts";

/** Usage of one pod. */
export interface PodUsage {
  /** In thousandths. */
  readonly value: number;
  /** When the measurement ended, and how long it took, in milliseconds. */
  readonly at: number;
  readonly window: number;
}

/** By the name of the pod. */
export type PodUsages = ReadonlyMap<string, PodUsage>;

/**
 * The three metrics APIs, as autoscalers read them. All values are thousandths; rejects with a text for the
 * user.
 */
export interface Metrics {
  /** Usage of a resource by pods, or by one container of each. Pods without a value are left out. */
  resource(namespace: string, selector: string, resource: string, container?: string): Promise<PodUsages>;
  pods(namespace: string, selector: string, metric: string, labels?: LabelSelector): Promise<PodUsages>;
  object(
    namespace: string,
    object: CrossVersionObjectReference,
    metric: string,
    labels?: LabelSelector,
  ): Promise<number>;
  external(namespace: string, metric: string, labels?: LabelSelector): Promise<number[]>;
}

interface MetricValue {
  readonly describedObject?: { readonly name?: string };
  readonly timestamp?: string;
  readonly windowSeconds?: number;
  readonly value: string;
}

const customGroup = "custom.metrics.k8s.io";
const externalGroup = "external.metrics.k8s.io";
/** Newest first. */
const customVersions = ["v1beta2", "v1beta1"];
/** Milliseconds that a measurement takes that does not say. */
const defaultWindow = 60_000;

const thousandths = (text: string): number => Number(Quantity.parse(text).milliValue());
const queryText = (labels: LabelSelector | undefined): string =>
  labels === undefined ? "" : String(labelSelectorOf(labels));

/** Words the error of a server without the API as client-go does. */
function textOf(error: unknown, what: string): string {
  if (StatusError.is(error, "NotFound") && error.message === "404 page not found")
    return `the server could not find the requested resource (get ${what})`;
  return error instanceof Error ? error.message : String(error);
}

/** Upstream: pkg/controller/podautoscaler/metrics/client.go. */
export function metricsOf(client: Client): Metrics {
  const mapper = createRestMapper(client);

  async function fetchValues(
    api: string,
    what: string,
    request: () => Promise<string>,
  ): Promise<readonly MetricValue[]> {
    let items: readonly MetricValue[];
    try {
      // Go writes null for a list without items.
      const list = JSON.parse(await request()) as { items?: readonly MetricValue[] | null };
      items = list.items ?? [];
    } catch (error) {
      throw new Error(`unable to fetch metrics from ${api} metrics API: ${textOf(error, what)}`);
    }
    if (items.length === 0) throw new Error(`no metrics returned from ${api} metrics API`);
    return items;
  }

  async function customVersion(): Promise<string> {
    let served: Wire<APIGroup>["versions"];
    try {
      const group = JSON.parse(await client.text("GET", `/apis/${customGroup}`)) as Wire<APIGroup>;
      served = group.versions;
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
      throw new Error(`no custom metrics API (${customGroup}) registered`);
    }
    const version = customVersions.find((name) => served?.some((each) => each.version === name));
    if (version === undefined) throw new Error("no known available metric versions found");
    return version;
  }

  /** `path`: of the object or objects, below the version. */
  async function custom(path: string, metric: string, query: Record<string, string>): Promise<string> {
    const set = Object.entries(query).filter(([, value]) => value !== "");
    const search = set.length === 0 ? "" : `?${new URLSearchParams(set)}`;
    const base = `/apis/${customGroup}/${await customVersion()}`;
    return client.text("GET", `${base}/${path}/${encodeURIComponent(metric)}${search}`);
  }

  return {
    async resource(namespace, selector, resource, container) {
      let items: readonly PodMetrics[];
      try {
        ({ items } = await client.resource(PodMetrics).list({ namespace, labelSelector: selector }));
      } catch (error) {
        throw new Error(
          `unable to fetch metrics from resource metrics API: ${textOf(error, `pods.${PodMetrics.group}`)}`,
        );
      }
      if (items.length === 0) throw new Error("no metrics returned from resource metrics API");
      return new Map(items.flatMap((item) => usageOf(item, resource, container)));
    },
    async pods(namespace, selector, metric, labels) {
      const query = { labelSelector: selector, metricLabelSelector: queryText(labels) };
      const values = await fetchValues("custom", `pods.${customGroup}`, () =>
        custom(`namespaces/${namespace}/pods/*`, metric, query),
      );
      return new Map(
        values.map(({ describedObject, timestamp, windowSeconds, value }) => [
          describedObject?.name ?? "",
          {
            value: thousandths(value),
            at: Date.parse(timestamp ?? ""),
            window: windowSeconds === undefined ? defaultWindow : windowSeconds * 1000,
          },
        ]),
      );
    },
    async object(namespace, { apiVersion = "v1", kind, name }, metric, labels) {
      const values = await fetchValues("custom", `${kind}.${customGroup}`, async () => {
        const query = { metricLabelSelector: queryText(labels) };
        const group = groupOf(apiVersion);
        // The metrics of a namespace have a path of their own.
        if (kind === "Namespace" && group === "")
          return custom(`namespaces/${namespace}/metrics`, metric, query);
        const { resource } = await mapper.find({ group, kind });
        const objects = group === "" ? resource : `${resource}.${group}`;
        return custom(`namespaces/${namespace}/${objects}/${name}`, metric, query);
      });
      return thousandths(values[0]!.value);
    },
    async external(namespace, metric, labels) {
      const values = await fetchValues("external", `${metric}.${externalGroup}`, async () => {
        const selector = queryText(labels);
        const search = selector === "" ? "" : `?${new URLSearchParams({ labelSelector: selector })}`;
        const path = `/apis/${externalGroup}/v1beta1/namespaces/${namespace}/${encodeURIComponent(metric)}`;
        return client.text("GET", `${path}${search}`);
      });
      return values.map(({ value }) => thousandths(value));
    },
  };
}

/** None for a pod of which a container lacks the resource. */
function usageOf(metrics: PodMetrics, resource: string, container?: string): [string, PodUsage][] {
  const { metadata, containers, timestamp, window } = metrics;
  const measured = containers.filter(({ name }) => container === undefined || name === container);
  const values = measured.map(({ usage }) => usage[resource]);
  if (values.length === 0 || values.includes(undefined)) return [];
  const value = values.reduce((total, text) => total + thousandths(text ?? "0"), 0);
  const milliseconds = Number(parseDuration(window) / 1_000_000n);
  return [[metadata.name, { value, at: Date.parse(timestamp), window: milliseconds }]];
}
