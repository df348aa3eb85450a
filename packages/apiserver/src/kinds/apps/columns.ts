import type { PodTemplateSpec } from "@dray/api/core/v1";
import { type Cell, wide } from "../../tables/column.ts";

export const templateColumns = wide("Containers", "Images");

export function templateCells(template: PodTemplateSpec | undefined): Cell[] {
  const containers = template?.spec?.containers ?? [];
  return [containers.map(({ name }) => name).join(","), containers.map(({ image }) => image ?? "").join(",")];
}
