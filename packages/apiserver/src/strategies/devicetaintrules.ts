import type { DeviceTaintRule } from "@dray/api/resource/v1";
import { stampChangedTaint } from "@dray/api/validation";
import type { Strategy } from "../kinds/strategy.ts";

export const devicetaintrules: Strategy = {
  prepareForUpdate(object, old, context) {
    if (context.subresource === "")
      stampChangedTaint(object as DeviceTaintRule, old as DeviceTaintRule, context.now);
  },
};
