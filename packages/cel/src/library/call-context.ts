import type { ElementBudget } from "../values/element-budget.ts";
import { PatternCache } from "./regex/pattern.ts";
import { TimeZoneCache } from "./time-zones.ts";

/** Caches that the functions of one environment keep between calls. */
export class FunctionCaches {
  readonly patterns = new PatternCache();
  readonly timeZones = new TimeZoneCache();
}

/** The means of an implementation in addition to its arguments. */
export interface CallContext extends FunctionCaches {
  /** Budget of the running evaluation. */
  readonly budget: ElementBudget;
}
