import type { ElementBudget } from "../values/element-budget.ts";
import { PatternCache } from "./regex/pattern.ts";
import { TimeZoneCache } from "./time-zones.ts";

/** What the functions of one environment keep from call to call. */
export class FunctionCaches {
  readonly patterns = new PatternCache();
  readonly timeZones = new TimeZoneCache();
}

/** What an implementation may use besides its arguments. */
export interface CallContext extends FunctionCaches {
  /** Of the running evaluation. */
  readonly budget: ElementBudget;
}
