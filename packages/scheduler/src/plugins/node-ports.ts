import type { Plugin } from "../framework/framework.ts";
import { HostPorts, hostPortsOf } from "../framework/host-ports.ts";

const name = "NodePorts";

/** Host ports that the pod asks for must be free on the node. Upstream: plugins/nodeports/node_ports.go */
export const nodePorts: Plugin = {
  name,
  preFilter: (_state, pod) => ({ type: hostPortsOf(pod).length === 0 ? "skip" : "continue" }),
  filter(_state, pod, { ports }) {
    if (hostPortsOf(pod).every((port) => ports.isFree(port))) return undefined;
    const reasons = ["node(s) didn't have free ports for the requested pod ports"];
    return { plugin: name, reasons, resolvable: true };
  },
  mayHelp(pod, event) {
    if (event.kind === "released") return true;
    if (event.kind === "node") return event.change === "add";
    if (event.kind !== "assigned-pod" || event.change !== "delete") return false;
    const freed = new HostPorts();
    for (const port of hostPortsOf(event.pod)) freed.count(port, 1);
    return hostPortsOf(pod).some((port) => !freed.isFree(port));
  },
};
