import { daemonsets } from "./daemonsets.ts";
import { devicetaintrules } from "./devicetaintrules.ts";
import { events } from "./events.ts";
import { namespaces } from "./namespaces.ts";
import { pods } from "./pods.ts";
import { priorityclasses } from "./priorityclasses.ts";
import { resourceclaims } from "./resourceclaims.ts";
import { services } from "./services.ts";
import type { Strategy } from "./strategy.ts";

/** The strategies by resource; what is not here follows the general rules alone. */
export const strategies: Readonly<Record<string, Strategy | undefined>> = {
  daemonsets,
  devicetaintrules,
  events,
  namespaces,
  pods,
  priorityclasses,
  resourceclaims,
  services,
};
