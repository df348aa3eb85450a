import type { Ingress } from "@dray/api/networking/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, none, type Printer } from "../../../tables/column.ts";
import { listText, shownItems } from "../columns.ts";

export const ingressColumns: Printer<Ingress> = {
  columns: columns("Name", "Class", "Hosts", "Address", "Ports", "Age"),
  cells({ metadata, spec, status }, now) {
    const hosts = (spec?.rules ?? []).map(({ host }) => host ?? "");
    const named = hosts.filter((host) => host !== "");
    // Only a rule after the third host adds `+ N more`, which then counts all rules.
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
