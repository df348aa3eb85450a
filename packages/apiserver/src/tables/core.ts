import type { ConfigMap, Event, Namespace, Node, ResourceQuota, Secret, Service } from "@dray/api/core/v1";
import { ageText } from "./age.ts";
import { column, columns, labelText, none, type Printer, wide } from "./column.ts";

export const namespaces: Printer<Namespace> = {
  columns: columns("Name", "Status", "Age"),
  cells: ({ metadata, status }, now) => [
    metadata.name,
    status?.phase ?? "",
    ageText(metadata.creationTimestamp, now),
  ],
};

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

export const nodes: Printer<Node> = {
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

export const configMaps: Printer<ConfigMap> = {
  columns: columns("Name", "Data", "Age"),
  cells: ({ metadata, data, binaryData }, now) => [
    metadata.name,
    Object.keys(data ?? {}).length + Object.keys(binaryData ?? {}).length,
    ageText(metadata.creationTimestamp, now),
  ],
};

export const secrets: Printer<Secret> = {
  columns: columns("Name", "Type", "Data", "Age"),
  cells: ({ metadata, type, data }, now) => [
    metadata.name,
    type ?? "",
    Object.keys(data ?? {}).length,
    ageText(metadata.creationTimestamp, now),
  ],
};

function externalAddress({ spec, status }: Service): string {
  const given = spec?.externalIPs ?? [];
  const balanced = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || "");
  switch (spec?.type) {
    case "ExternalName":
      return spec.externalName ?? "";
    case "LoadBalancer": {
      const all = [...balanced, ...given].filter((address) => address !== "");
      return all.length > 0 ? all.join(",") : "<pending>";
    }
    default:
      return given.length > 0 ? given.join(",") : none;
  }
}

function ports({ spec }: Service): string {
  const texts = (spec?.ports ?? []).map(
    ({ port, nodePort, protocol }) => `${port}${nodePort ? `:${nodePort}` : ""}/${protocol}`,
  );
  return texts.join(",") || none;
}

export const services: Printer<Service> = {
  columns: [
    ...columns("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age"),
    column("Selector", { wide: true }),
  ],
  cells: (service, now) => [
    service.metadata.name,
    service.spec?.type ?? "",
    service.spec?.clusterIPs?.[0] || service.spec?.clusterIP || none,
    externalAddress(service),
    ports(service),
    ageText(service.metadata.creationTimestamp, now),
    labelText(service.spec?.selector),
  ],
};

export const events: Printer<Event> = {
  columns: [
    ...columns("Last Seen", "Type", "Reason", "Object"),
    ...wide("Subobject", "Source"),
    column("Message"),
    ...wide("First Seen", "Count", "Name"),
  ],
  cells(event, now) {
    const object = event.involvedObject;
    const kind = (object?.kind ?? "").toLowerCase();
    const first = event.firstTimestamp || event.eventTime;
    const last = event.series?.lastObservedTime || event.lastTimestamp || first;
    const component = event.source?.component || event.reportingComponent || "";
    const instance = event.source?.host || event.reportingInstance || "";
    return [
      ageText(last, now),
      event.type ?? "",
      event.reason ?? "",
      object?.name ? `${kind}/${object.name}` : kind,
      object?.fieldPath ?? "",
      instance === "" ? component : `${component}, ${instance}`,
      (event.message ?? "").trim(),
      ageText(first, now),
      // An event that happened once has no count in the newer form.
      event.series ? (event.series.count ?? 0) : event.count || 1,
      event.metadata.name,
    ];
  },
};

function usage({ status }: ResourceQuota, limits: boolean): string {
  return Object.entries(status?.hard ?? {})
    .filter(([name]) => name.startsWith("limits.") === limits)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, hard]) => `${name}: ${status?.used?.[name] ?? "0"}/${hard}`)
    .join(", ");
}

export const resourceQuotas: Printer<ResourceQuota> = {
  columns: columns("Name", "Request", "Limit", "Age"),
  cells: (quota, now) => [
    quota.metadata.name,
    usage(quota, false),
    usage(quota, true),
    ageText(quota.metadata.creationTimestamp, now),
  ],
};
