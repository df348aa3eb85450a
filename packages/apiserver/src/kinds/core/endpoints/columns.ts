import type { Endpoints } from "@dray/api/core/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, none, type Printer } from "../../../tables/column.ts";
import { listText } from "../../networking/columns.ts";

const hostPort = (host: string, port: number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;

export const endpointsColumns: Printer<Endpoints> = {
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
