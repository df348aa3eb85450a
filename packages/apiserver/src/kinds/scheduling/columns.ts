import type { CompositePodGroup } from "@dray/api/scheduling/v1alpha3";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { none } from "../../tables/column.ts";

type Group = PodGroup | CompositePodGroup;

export const policyOf = ({ spec }: Group): string =>
  spec?.schedulingPolicy?.gang === undefined ? "Basic" : "Gang";

export const workloadOf = ({ spec }: Group): string => spec?.workloadRef?.workloadName ?? none;
