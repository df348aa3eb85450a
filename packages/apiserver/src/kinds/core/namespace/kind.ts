import { Namespace } from "@dray/api/core/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";
import { defineServedKind } from "../../define.ts";
import { namespaceStrategy } from "./strategy.ts";

const namespaceColumns: Printer<Namespace> = {
  columns: columns("Name", "Status", "Age"),
  cells: ({ metadata, status }, now) => [
    metadata.name,
    status?.phase ?? "",
    ageText(metadata.creationTimestamp, now),
  ],
};

export const namespace = defineServedKind(Namespace, {
  facts: {
    status: "keep",
    noDeleteCollection: true,
    answersDeleted: true,
    fields: ["status.phase"],
    fieldError: "core",
    subresources: { finalize: { kind: "Namespace", verbs: ["update"] } },
  },
  strategy: namespaceStrategy,
  columns: namespaceColumns,
});
