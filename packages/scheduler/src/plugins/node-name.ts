import type { Plugin } from "../framework/framework.ts";

const name = "NodeName";

/** A pod that names its node can be on no other. Upstream: plugins/nodename/node_name.go */
export const nodeName: Plugin = {
  name,
  preFilter(_state, { spec }) {
    return spec.nodeName ? { type: "continue", nodes: new Set([spec.nodeName]) } : { type: "skip" };
  },
  filter(_state, { spec }, node) {
    if (!spec.nodeName || spec.nodeName === node.name) return undefined;
    const reasons = ["node(s) didn't match the requested node name"];
    return { plugin: name, reasons, resolvable: false };
  },
  mayHelp: (_pod, event) => event.kind === "node" && event.change === "add",
};
