import { CustomResourceDefinition } from "@dray/api/apiextensions/v1";
import { dated } from "../../../tables/plain.ts";
import { defineServedKind } from "../../define.ts";
import { withDefaultNames } from "./default-names.ts";
import { customResourceDefinitionStrategy } from "./strategy.ts";

export const customResourceDefinition = defineServedKind(CustomResourceDefinition, {
  facts: {
    status: "keep",
    generation: true,
    needsVersion: true,
    storageVersion: { "1.34": "v1beta1", "1.35": "v1beta1", "1.36": "v1beta1", "1.37": "v1beta1" },
  },
  normalise: withDefaultNames,
  strategy: customResourceDefinitionStrategy,
  columns: dated,
});
