import type { Plugin } from "../framework/framework.ts";

/** Pods with scheduling gates wait until the last gate is removed (KEP-3521). */
export const schedulingGates: Plugin = {
  name: "SchedulingGates",
  preEnqueue({ spec: { schedulingGates: gates = [] } }) {
    if (gates.length === 0) return undefined;
    return `waiting for scheduling gates: [${gates.map((gate) => gate.name).join(" ")}]`;
  },
  mayHelp: (_pod, event) => event.kind === "own-pod" && !event.pod.spec.schedulingGates?.length,
};
