import type { Service } from "@dray/api/core/v1";
import { ageText } from "../../../tables/age.ts";
import { column, columns, labelText, none, type Printer } from "../../../tables/column.ts";

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

export const serviceColumns: Printer<Service> = {
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
