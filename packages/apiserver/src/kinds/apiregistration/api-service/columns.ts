import type { APIService } from "@dray/api/apiregistration/v1";
import { ageText } from "../../../tables/age.ts";
import { column, type Printer } from "../../../tables/column.ts";

/** Upstream: staging/src/k8s.io/kube-aggregator/pkg/registry/apiservice/etcd/etcd.go, ConvertToTable */
export const apiServiceColumns: Printer<APIService> = {
  columns: [
    column("Name"),
    { ...column("Service"), description: "Service of the server that has this version, or Local." },
    { ...column("Available"), description: "Whether that server can be reached." },
    column("Age"),
  ],
  cells: ({ metadata, spec, status }, now) => {
    const service = spec?.service;
    const available = status?.conditions?.find(({ type }) => type === "Available");
    const { status: state = "Unknown", reason } = available ?? {};
    return [
      metadata.name,
      service ? `${service.namespace}/${service.name}` : "Local",
      state === "True" || !reason ? state : `${state} (${reason})`,
      ageText(metadata.creationTimestamp, now),
    ];
  },
};
