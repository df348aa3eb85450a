import names from "./plugin-names.json" with { type: "json" };

/**
 * The names of kube-apiserver's admission plugins: those that are on unless they are disabled, and those that
 * are off there and that this server does not have. Some of the first are not there either: what they look
 * after is not. `offByDefault` are Dray's own.
 */
export const admissionPluginNames: {
  readonly onByDefault: readonly string[];
  readonly notThere: readonly string[];
  readonly offByDefault: readonly string[];
} = names;

/** Throws a TypeError if one of the names is unknown. */
export function checkPluginNames(names: readonly string[]): void {
  const known = Object.values(admissionPluginNames).flat();
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new TypeError(`unknown admission plugin ${JSON.stringify(unknown)}: known are ${known.join(", ")}`);
}
