import type { Scenario } from "../scenario.ts";
import { access } from "./access.ts";
import { custom } from "./custom.ts";
import { devices } from "./devices.ts";
import { namespaces } from "./namespaces.ts";
import { services } from "./services.ts";
import { workloads } from "./workloads.ts";

/** Those that have long to wait come first of each group. */
export const scenarios: readonly Scenario[] = [
  ...workloads,
  ...access,
  ...custom,
  ...devices,
  ...namespaces,
  ...services,
];
