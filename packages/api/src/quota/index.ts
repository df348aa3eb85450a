/** What objects take of the quotas of their namespace: for admission, which charges them, and for the controller, which counts. */
export { type Amounts, amountsOf, listOf } from "./amounts.ts";
export { type Balance, balanceOf, charge } from "./check.ts";
export type { QuotaEvaluator, QuotaLookup, QuotaWrite } from "./evaluator.ts";
export { quotaEvaluators } from "./evaluators.ts";
export { ofContainers, type Side } from "./pod-resources.ts";
export { type CountedResource, quotaStatus } from "./usage.ts";
