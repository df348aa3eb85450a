import { encodeJSON } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { ProbeMetrics } from "../prober/probe-metrics.ts";
import type { AgentHealth } from "./health.ts";
import type { Document } from "./server.ts";
import type { NodeStatistics } from "./stats.ts";

export interface DocumentsOptions {
  readonly statistics: NodeStatistics;
  readonly probes: ProbeMetrics;
  /** Checks of the agent's health. */
  readonly health: AgentHealth;
  /** Usage of containers under the names of cAdvisor. */
  cadvisor(): Promise<string>;
  /** Fields of a KubeletConfiguration (kubelet.config.k8s.io/v1beta1) of this agent. */
  readonly configuration: Readonly<Record<string, unknown>>;
  pod(uid: string): Pod | undefined;
  /** Metrics of the agent itself. */
  metrics(): Promise<string>;
}

/** Documents that the node serves over HTTPS, by path. */
export function documents(options: DocumentsOptions): ReadonlyMap<string, Document> {
  const { statistics, probes, configuration } = options;
  const metrics = "text/plain; version=0.0.4; charset=utf-8";
  const json = "application/json";
  return new Map<string, Document>([
    ["/metrics", { contentType: metrics, read: () => options.metrics() }],
    ["/metrics/cadvisor", { contentType: metrics, read: () => options.cadvisor() }],
    ["/metrics/slis", { contentType: metrics, read: async () => options.health.slis() }],
    ["/metrics/resource", { contentType: metrics, read: () => statistics.resourceMetrics() }],
    ["/metrics/probes", { contentType: metrics, read: async () => probes.text((uid) => options.pod(uid)) }],
    [
      "/stats/summary",
      {
        contentType: json,
        read: async (query) => {
          const only = ["true", "1"].includes(query.get("only_cpu_and_memory") ?? "");
          return encodeJSON(await statistics.summary(only));
        },
      },
    ],
    ["/configz", { contentType: json, read: async () => encodeJSON({ kubeletconfig: configuration }) }],
  ]);
}
