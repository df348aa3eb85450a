import type { Node } from "@dray/api/core/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, none, type Printer, wide } from "../../../tables/column.ts";

const rolePrefix = "node-role.kubernetes.io/";

function roles(labels: Readonly<Record<string, string>> | undefined): string {
  const names = new Set<string>();
  for (const [key, value] of Object.entries(labels ?? {})) {
    if (key.startsWith(rolePrefix)) {
      const role = key.slice(rolePrefix.length);
      if (role !== "") names.add(role);
    } else if (key === "kubernetes.io/role" && value !== "") names.add(value);
  }
  return [...names].sort().join(",") || none;
}

function nodeStatus({ spec, status }: Node): string {
  const ready = (status?.conditions ?? []).find(({ type }) => type === "Ready");
  const state = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return spec?.unschedulable ? `${state},SchedulingDisabled` : state;
}

export const nodeColumns: Printer<Node> = {
  columns: [
    ...columns("Name", "Status", "Roles", "Age", "Version"),
    ...wide("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
  ],
  cells(node, now) {
    const { metadata, status } = node;
    const address = (wanted: string): string =>
      (status?.addresses ?? []).find(({ type }) => type === wanted)?.address ?? none;
    const info = status?.nodeInfo;
    return [
      metadata.name,
      nodeStatus(node),
      roles(metadata.labels),
      ageText(metadata.creationTimestamp, now),
      info?.kubeletVersion ?? "",
      address("InternalIP"),
      address("ExternalIP"),
      info?.osImage || "<unknown>",
      info?.kernelVersion || "<unknown>",
      info?.containerRuntimeVersion || "<unknown>",
    ];
  },
};
