import { defaultLogLimits } from "../logs/log-rotation.ts";
import { metricText } from "../metrics/prometheus.ts";
import type { PodManager } from "../pods/pod-manager.ts";
import type { ProbeMetrics } from "../prober/probe-metrics.ts";
import { cadvisorMetrics } from "../server/cadvisor.ts";
import { clientLimits } from "../server/client-limits.ts";
import { documents } from "../server/documents.ts";
import { AgentHealth } from "../server/health.ts";
import { PlainServer } from "../server/plain.ts";
import { NodeServer, type Serving } from "../server/server.ts";
import { NodeStatistics } from "../server/stats.ts";
import { volumeMetrics } from "../server/volume-metrics.ts";
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
  const measured = { clock, runtime, pods: () => pods.list() };
  const health = new AgentHealth();
  const nodeDocuments = documents({
    statistics: new NodeStatistics({ ...measured, nodeName, paths, volumes }),
    cadvisor: () => cadvisorMetrics({ ...measured, node: () => context.node.current }),
    health,
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
    metrics: () => metricsText(context, parts),
  });
  const healthz = { contentType: "text/plain; charset=utf-8", read: async () => health.check() };
  const limits = options.clientLimits ?? clientLimits();
  return {
    node: new NodeServer({
      client,
      limits,
      clock,
      log,
      runtime,
      nodeName,
      address: options.address ?? nodeAddress,
      serving: measuredServing(options.serving, context),
      pods: () => pods.list(),
      documents: new Map([...nodeDocuments, ["/healthz", healthz]]),
    }),
    health: new PlainServer(new Map([["/healthz", healthz]]), limits.connections, clock),
    readOnly: new PlainServer(nodeDocuments, limits.connections, clock),
  };
}

/** Passes renewed certificates to the metrics, too. */
function measuredServing(serving: Serving, { metrics }: AgentContext): Serving {
  const { renew } = serving;
  if (renew === undefined) return serving;
  return {
    ...serving,
    renew: (use, signal) =>
      renew((pair) => {
        metrics.servesWith(pair.cert);
        use(pair);
      }, signal),
  };
}

/** Metrics of the node in the text format of Prometheus. */
async function metricsText(context: AgentContext, { pods, volumes, metrics }: ServedParts): Promise<string> {
  const { runtime, log, options } = context;
  const states = Object.groupBy(await runtime.listContainers(), ({ state }) => state);
  const sandboxes = (await runtime.listPodSandboxes()).filter(({ ready }) => ready).length;
  const containers = Object.entries(states).map(([state, list]) => ({
    labels: { container_state: state },
    value: list.length,
  }));
  return [
    metricText("kubelet_running_pods", "[ALPHA] Number of pods that have a running pod sandbox", "gauge", [
      { value: sandboxes },
    ]),
    metricText(
      "kubelet_running_containers",
      "[ALPHA] Number of containers currently running",
      "gauge",
      containers,
    ),
    await volumeMetrics({ volumes, pods: () => pods.list() }),
    context.metrics.text(),
    ...metrics.map((part) => part.metrics()),
    metricText(
      "dray_log_lines_dropped_total",
      "Log lines that could not be written, such as on a full disk",
      "counter",
      [{ value: log.droppedLines ?? 0 }],
    ),
    options.clientMetrics?.text() ?? "",
  ].join("");
}
