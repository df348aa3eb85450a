import { VolumeAttributesClass } from "@dray/api/storage/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { volumeAttributesClassColumns } from "./columns.ts";

export const volumeAttributesClass: ServedKind<VolumeAttributesClass> = defineServedKind(
  VolumeAttributesClass,
  {
    facts: {
      answersDeleted: true,
      deprecated: {
        v1beta1: { since: "1.34", gone: "1.37", instead: "storage.k8s.io/v1 VolumeAttributesClass" },
      },
    },
    columns: volumeAttributesClassColumns,
  },
);
