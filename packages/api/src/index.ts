export * from "./errors.ts";
export * from "./features.ts";
export * from "./names.ts";
export * from "./node-fit.ts";
export * from "./object.ts";
export { canonicalQuantity, Quantity, QuantityError, type QuantityFormat } from "./quantity.ts";
export { quoted } from "./quoted.ts";
export * from "./selectors/index.ts";
export { isSemanticVersion } from "./semver.ts";
