import { controllerOf } from "@dray/api";
import type { ControllerRevision } from "@dray/api/apps/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, none, type Printer } from "../../../tables/column.ts";

export const controllerRevisionColumns: Printer<ControllerRevision> = {
  columns: [...columns("Name", "Controller", "Revision", "Age")],
  cells({ metadata, revision }, now) {
    const owner = controllerOf({ metadata });
    const group = owner?.apiVersion?.includes("/") ? `.${owner.apiVersion.split("/")[0]}` : "";
    return [
      metadata.name,
      owner ? `${owner.kind.toLowerCase()}${group}/${owner.name}` : none,
      Number(revision ?? 0),
      ageText(metadata.creationTimestamp, now),
    ];
  },
};
