import { styleText } from "node:util";
import { humanDuration } from "@dray/api";
import type { Layout } from "@dray/cluster";
import { commandText } from "../../options/target.ts";
import { endText } from "../../process/end-text.ts";
import { shellWord } from "../../text/shell.ts";
import { plainFormat, type TableFormat, table } from "../../text/table.ts";
import type { ClusterStatus } from "./cluster.ts";
import type { NodeStatus } from "./objects.ts";
import type { ProcessStatus } from "./processes.ts";

/**
 * Maximum number of nodes that are all listed; above that only nodes that are not ready, up to this number.
 */
const maxNodes = 20;

/** Formats the status for people. `now` in milliseconds since the epoch. */
export function statusText(
  status: ClusterStatus,
  now: number,
  layout: Layout,
  format: TableFormat = plainFormat,
): string {
  const { name, state, kubernetesVersion, server, fleet, dataDir, kubeconfig, logs } = status;
  const [what, style] = {
    none: ["does not exist", "yellow"] as const,
    stopped: ["is stopped", "yellow"] as const,
    dead: ["is dead", "red"] as const,
    starting: ["is starting", "yellow"] as const,
    stopping: ["is stopping", "yellow"] as const,
    unresponsive: ["does not respond", "red"] as const,
    degraded: ["runs, but not all of it is well", "red"] as const,
    running: ["is running", "green"] as const,
  }[state];
  const sections = [
    [
      `Cluster ${name} ${styleText(style, what)}: Kubernetes ${kubernetesVersion}${server === undefined ? "" : ` at ${server}`}`,
      `  data        ${shellWord(dataDir)}`,
      ...(fleet === undefined ? [] : [`  fleet       ${shellWord(fleet)}`]),
      ...(kubeconfig === undefined ? [] : [`  kubeconfig  ${shellWord(kubeconfig)}`]),
      `  logs        ${shellWord(logs ?? "")}, or ${commandText(layout, "logs")}`,
      "",
    ].join("\n"),
    table(
      ["PROCESS", "STATE", "PID", "UPTIME", "MEMORY", { title: "HOLDS", wraps: true }],
      status.processes.map((process) => processRow(process, now)),
      format,
    ),
    ...(status.running ? [nodesText(status.nodes, format), driversText(status, format)] : []),
    // The nodes of a stopped cluster are stopped, too.
    ...(status.running || state === "stopped" || status.nodes.length === 0
      ? []
      : [nodesText(status.nodes, format)]),
    status.problems.map((problem) => `${styleText("red", "problem:")} ${problem}\n`).join(""),
    restartsText(status.processes, now),
    nextText(status, layout),
  ];
  return sections.filter((section) => section !== "").join("\n");
}

function processRow(process: ProcessStatus, now: number): string[] {
  const { name, state, pid, startedAt, memoryBytes, deadSince, components } = process;
  const mebibytes = memoryBytes === undefined ? "" : `${Math.round(memoryBytes / 2 ** 20)}Mi`;
  const since = deadSince === undefined ? "" : ` since ${clock(deadSince)} (${ago(deadSince, now)} ago)`;
  const nodes = components.length;
  const holds =
    name === "agents" ? `kubelet of ${nodes} ${nodes === 1 ? "node" : "nodes"}` : components.join(", ");
  return [
    name,
    `${state}${since}`,
    pid === undefined ? "" : `${pid}`,
    startedAt === undefined ? "" : ago(startedAt, now),
    mebibytes,
    holds,
  ];
}

function nodesText(nodes: readonly NodeStatus[], format: TableFormat): string {
  if (nodes.length === 0) return "No nodes.\n";
  const notReady = nodes.filter(({ ready }) => !ready);
  const shown = nodes.length <= maxNodes ? nodes : notReady.slice(0, maxNodes);
  const rest = nodes.length <= maxNodes ? 0 : nodes.length - shown.length;
  const reason = { title: notReady.length === 0 ? "" : "REASON", wraps: true };
  const list = shown.length === 0 ? "" : table(["NODE", "STATUS", reason], shown.map(nodeRow), format);
  if (rest === 0) return list;
  return `${list}${list === "" ? "" : "... and "}${rest} ${shown.length === 0 ? "" : "more "}nodes, ${rest - (notReady.length - shown.length)} of them ready\n`;
}

function nodeRow({ name, ready, cordoned, reason }: NodeStatus): string[] {
  const state = `${ready === null ? "Unknown" : ready ? "Ready" : "NotReady"}${cordoned ? ",SchedulingDisabled" : ""}`;
  return [name, state, reason ?? ""];
}

function driversText({ drivers }: ClusterStatus, format: TableFormat): string {
  if (drivers.length === 0) return "No DRA driver publishes devices.\n";
  const rows = drivers.map(({ name, devices, pools, nodes }) => [name, `${devices}`, `${pools}`, `${nodes}`]);
  return table([{ title: "DRIVER", wraps: true }, "DEVICES", "POOLS", "NODES"], rows, format);
}

function restartsText(processes: readonly ProcessStatus[], now: number): string {
  return processes
    .flatMap(({ name, state, restarts = 0, lastEnd, log }) => {
      if (state === "dead" || restarts === 0 || lastEnd === undefined) return [];
      const times = restarts === 1 ? "once" : `${restarts} times`;
      const [what, it] = name === "agents" ? ["node agents were", "they"] : ["simulation was", "it"];
      return [
        `The ${what} started again ${times}; ${it} last ended ${ago(lastEnd.at, now)} ago with ${endText(lastEnd)}: see ${log}\n`,
      ];
    })
    .join("");
}

/** Returns the next command to run. */
function nextText({ state, kubeconfig }: ClusterStatus, layout: Layout): string {
  const [up, down] = ["up", "down"].map((command) => commandText(layout, command));
  if (state === "dead")
    return `${up} continues the cluster; its pods may still run, and ${down} ends them.\n`;
  if (state === "stopped") return `${up} continues the cluster.\n`;
  if ((state !== "running" && state !== "degraded") || kubeconfig === undefined) return "";
  return `Use it:\n  export KUBECONFIG=${shellWord(kubeconfig)}\n  kubectl get nodes\n`;
}

const ago = (time: string, now: number): string => humanDuration(Math.max(0, now - Date.parse(time)));

/** Local time of day. */
const clock = (time: string): string => {
  const date = new Date(time);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((n) => String(n).padStart(2, "0"))
    .join(":");
};
