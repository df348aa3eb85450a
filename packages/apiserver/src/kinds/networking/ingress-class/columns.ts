import type { IngressClass } from "@dray/api/networking/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, none, type Printer } from "../../../tables/column.ts";

const defaultClass = "ingressclass.kubernetes.io/is-default-class";

export const ingressClassColumns: Printer<IngressClass> = {
  columns: columns("Name", "Controller", "Parameters", "Age"),
  cells({ metadata, spec }, now) {
    const { apiGroup, kind, name } = spec?.parameters ?? {};
    const group = apiGroup === undefined ? "" : `.${apiGroup}`;
    return [
      metadata.annotations?.[defaultClass] === "true" ? `${metadata.name} (default)` : metadata.name,
      spec?.controller ?? "",
      spec?.parameters ? `${kind}${group}/${name}` : none,
      ageText(metadata.creationTimestamp, now),
    ];
  },
};
