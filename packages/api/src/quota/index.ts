/**
 * Usage of a namespace's quotas by its objects: for admission, which charges them, and for the controller,
 * which counts.
 */

export type { QuotaEvaluator, QuotaLookup, QuotaWrite } from "../kinds/quota-evaluator.ts";
export {
  type DeviceDemand,
  deviceDemands,
  maxDevices,
  type RequestedDevices,
} from "../kinds/resource/resource-claim/requested-devices.ts";
export { type Balance, balanceOf, charge } from "./check.ts";
export { quotaEvaluators } from "./evaluators.ts";
export { type CountedResource, quotaStatus } from "./usage.ts";
