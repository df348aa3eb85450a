import type { Endpoints } from "@dray/api/core/v1";
import type { EndpointSlice } from "@dray/api/discovery/v1";
import type { Ingress, IngressClass, IPAddress, NetworkPolicy, ServiceCIDR } from "@dray/api/networking/v1";
import { ageText } from "./age.ts";
import { columns, none, type Printer, selectorText } from "./column.ts";

const shownItems = 3;

/** The first items of a list, and how many there are beyond. */
const listText = (items: readonly string[], empty: string, count = items.length): string =>
  count > shownItems
    ? `${items.slice(0, shownItems).join(",")} + ${count - shownItems} more...`
    : items.join(",") || empty;

export const ingresses: Printer<Ingress> = {
  columns: columns("Name", "Class", "Hosts", "Address", "Ports", "Age"),
  cells({ metadata, spec, status }, now) {
    const hosts = (spec?.rules ?? []).map(({ host }) => host ?? "");
    const named = hosts.filter((host) => host !== "");
    // Only a rule behind the third host makes the text tell of more, and then it counts all rules.
    const more = hosts.slice(0, -1).filter((host) => host !== "").length >= shownItems;
    const addresses = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || "");
    return [
      metadata.name,
      spec?.ingressClassName ?? none,
      listText(named, "*", more ? hosts.length : 0),
      [...new Set(addresses)]
        .filter((address) => address !== "")
        .sort()
        .join(","),
      (spec?.tls ?? []).length > 0 ? "80, 443" : "80",
      ageText(metadata.creationTimestamp, now),
    ];
  },
};

const defaultClass = "ingressclass.kubernetes.io/is-default-class";

export const ingressClasses: Printer<IngressClass> = {
  columns: columns("Name", "Controller", "Parameters", "Age"),
  cells({ metadata, spec }, now) {
    const { apiGroup, kind, name } = spec?.parameters ?? {};
    const group = apiGroup === undefined ? "" : `.${apiGroup}`;
    return [
      metadata.annotations?.[defaultClass] === "true" ? `${metadata.name} (default)` : metadata.name,
      spec?.controller ?? "",
      spec?.parameters ? `${kind}${group}/${name}` : none,
      ageText(metadata.creationTimestamp, now),
    ];
  },
};

export const networkPolicies: Printer<NetworkPolicy> = {
  columns: columns("Name", "Pod-Selector", "Age"),
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    selectorText(spec?.podSelector),
    ageText(metadata.creationTimestamp, now),
  ],
};

export const serviceCIDRs: Printer<ServiceCIDR> = {
  columns: columns("Name", "CIDRs", "Age"),
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    (spec?.cidrs ?? []).join(","),
    ageText(metadata.creationTimestamp, now),
  ],
};

export const ipAddresses: Printer<IPAddress> = {
  // The age has a cell, and no column (as upstream).
  columns: columns("Name", "ParentRef"),
  cells({ metadata, spec }, now) {
    const { group, resource = "", namespace, name } = spec?.parentRef ?? {};
    const kind = (group ? `${resource}.${group}` : resource).toLowerCase();
    return [
      metadata.name,
      spec?.parentRef ? [kind, ...(namespace ? [namespace] : []), name ?? ""].join("/") : none,
      ageText(metadata.creationTimestamp, now),
    ];
  },
};

const hostPort = (host: string, port: number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;

export const endpoints: Printer<Endpoints> = {
  columns: columns("Name", "Endpoints", "Age"),
  cells({ metadata, subsets = [] }, now) {
    const targets = subsets.flatMap(({ addresses, ports }) => {
      const hosts = (addresses ?? []).map(({ ip }) => ip);
      if (!ports?.length) return hosts;
      return ports.flatMap(({ port }) => hosts.map((host) => hostPort(host, port)));
    });
    return [
      metadata.name,
      subsets.length === 0 ? none : listText(targets, ""),
      ageText(metadata.creationTimestamp, now),
    ];
  },
};

export const endpointSlices: Printer<EndpointSlice> = {
  columns: columns("Name", "AddressType", "Ports", "Endpoints", "Age"),
  cells: ({ metadata, addressType, ports, endpoints }, now) => [
    metadata.name,
    addressType,
    listText(
      (ports ?? []).map(({ port, name }) => String(port ?? name ?? "*")),
      "<unset>",
    ),
    listText(
      (endpoints ?? []).flatMap(({ addresses }) => addresses ?? []),
      "<unset>",
    ),
    ageText(metadata.creationTimestamp, now),
  ],
};
