import type { EndpointSlice } from "@dray/api/discovery/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";
import { listText } from "../../networking/columns.ts";

export const endpointSliceColumns: Printer<EndpointSlice> = {
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
