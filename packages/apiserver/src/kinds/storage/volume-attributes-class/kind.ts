import { VolumeAttributesClass } from "@dray/api/storage/v1";
import { defineServedKind } from "../../define.ts";
import { volumeAttributesClassColumns } from "./columns.ts";

export const volumeAttributesClass = defineServedKind(VolumeAttributesClass, {
  facts: {
    answersDeleted: true,
    deprecated: {
      v1beta1: { since: "1.34", gone: "1.37", instead: "storage.k8s.io/v1 VolumeAttributesClass" },
    },
  },
  columns: volumeAttributesClassColumns,
});
