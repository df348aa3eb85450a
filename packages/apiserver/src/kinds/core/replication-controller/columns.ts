import type { ReplicationController } from "@dray/api/core/v1";
import { ageText } from "../../../tables/age.ts";
import { labelText, type Printer } from "../../../tables/column.ts";
import { templateCells } from "../../apps/columns.ts";
import { replicaSetColumns } from "../../apps/replica-set/columns.ts";

export const replicationControllerColumns: Printer<ReplicationController> = {
  columns: replicaSetColumns.columns,
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec?.replicas ?? 0,
    status?.replicas ?? 0,
    status?.readyReplicas ?? 0,
    ageText(metadata.creationTimestamp, now),
    ...templateCells(spec?.template),
    labelText(spec?.selector),
  ],
};
