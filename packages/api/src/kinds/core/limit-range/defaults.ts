import type { LimitRange } from "../../../generated/core/v1.ts";
import type { Wire } from "../../../objects/wire.ts";
import { roundResources } from "../pod/defaults.ts";

export function defaultLimitRange(range: Wire<LimitRange>): void {
  for (const item of range.spec?.limits ?? []) {
    if (item.type === "Container") {
      item.default ??= {};
      for (const [name, max] of Object.entries(item.max ?? {})) item.default[name] ??= max;
      item.defaultRequest ??= {};
      for (const [name, limit] of Object.entries(item.default)) item.defaultRequest[name] ??= limit;
      for (const [name, min] of Object.entries(item.min ?? {})) item.defaultRequest[name] ??= min;
    }
    for (const list of [item.max, item.min, item.default, item.defaultRequest, item.maxLimitRequestRatio]) {
      roundResources(list);
    }
  }
}
