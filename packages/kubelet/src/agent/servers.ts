import type { Log } from "@dray/client";
import { defaultLogLimits } from "../logs/log-rotation.ts";
import type { PodManager } from "../pods/pod-manager.ts";
import type { ProbeMetrics } from "../prober/probe-metrics.ts";
import type { RuntimeService } from "../runtime/service.ts";
import { documents } from "../server/documents.ts";
import { PlainServer } from "../server/plain.ts";
import { NodeServer } from "../server/server.ts";
import { NodeStatistics } from "../server/stats.ts";
import type { Volumes } from "../volumes/volumes.ts";
import type { ClusterServices } from "./cluster-services.ts";
import type { AgentContext } from "./context.ts";

/** Servers of a node. */
export interface NodeServers {
  /** HTTPS endpoints. */
  readonly node: NodeServer;
  /** `/healthz` over HTTP. */
  readonly health: PlainServer;
  /** Metrics and statistics over HTTP. */
  readonly readOnly: PlainServer;
}

export interface ServedParts {
  readonly pods: PodManager;
  readonly volumes: Volumes;
  readonly probes: ProbeMetrics;
  readonly services: ClusterServices;
  /** Parts with metrics of their own. */
  readonly metrics: readonly { metrics(): string }[];
}

export function createServers(context: AgentContext, parts: ServedParts): NodeServers {
  const { client, clock, log, runtime, nodeName, nodeAddress, paths, options } = context;
  const { pods, volumes, probes, services } = parts;
  const logLimits = { ...defaultLogLimits, ...options.logs };
  const { domain, resolvConf } = services.dns;
  const nodeDocuments = documents({
    statistics: new NodeStatistics({ clock, runtime, nodeName, paths, volumes, pods: () => pods.list() }),
    probes,
    configuration: {
      get clusterDNS() {
        return services.dns.servers;
      },
      clusterDomain: domain,
      resolvConf,
      containerLogMaxSize: String(logLimits.maxSize),
      containerLogMaxFiles: logLimits.maxFiles,
    },
    pod: (uid) => pods.get(uid),
    metrics: async () =>
      (await metricsText(runtime, parts.metrics, log)) + (options.clientMetrics?.text() ?? ""),
  });
  const health = { contentType: "text/plain; charset=utf-8", read: async () => "ok" };
  return {
    node: new NodeServer({
      client,
      clock,
      log,
      runtime,
      nodeName,
      address: options.address ?? nodeAddress,
      serving: options.serving,
      pods: () => pods.list(),
      documents: nodeDocuments,
    }),
    health: new PlainServer(new Map([["/healthz", health]])),
    readOnly: new PlainServer(nodeDocuments),
  };
}

/** Metrics of the node in the text format of Prometheus. */
async function metricsText(
  runtime: RuntimeService,
  parts: readonly { metrics(): string }[],
  log: Log,
): Promise<string> {
  const running = (await runtime.listContainers()).filter(({ state }) => state === "running").length;
  const pods = (await runtime.listPodSandboxes()).filter(({ ready }) => ready).length;
  const gauge = (name: string, help: string, value: number): string =>
    `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`;
  return [
    gauge("kubelet_running_pods", "Number of pods that have a running pod sandbox", pods),
    gauge("kubelet_running_containers", "Number of containers currently running", running),
    ...parts.map((part) => part.metrics()),
    "# HELP dray_log_lines_dropped_total Log lines that could not be written, such as on a full disk\n",
    "# TYPE dray_log_lines_dropped_total counter\n",
    `dray_log_lines_dropped_total ${log.droppedLines ?? 0}\n`,
  ].join("");
}
