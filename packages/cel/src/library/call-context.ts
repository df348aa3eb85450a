import type { ElementBudget } from "../values/element-budget.ts";
import { PatternCache } from "./regex/pattern.ts";
import { TimeZoneCache } from "./time-zones.ts";

/** Caches that the functions of one environment keep between calls. */
export class FunctionCaches {
  readonly patterns = new PatternCache();
  readonly timeZones = new TimeZoneCache();
}

/** The means of the implementations in one program, in addition to their arguments. */
export interface CallContext extends FunctionCaches {
  /** Budget of the running evaluation: evaluations of a program do not overlap. */
  readonly budget: ElementBudget;
}
