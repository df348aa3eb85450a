import names from "./plugin-names.json" with { type: "json" };

/**
 * The names of kube-apiserver's admission plugins: those that are on unless they are disabled, and those that are off
 * there and that this server does not have. Some of the first are not there either: what they look after is not.
 */
export const admissionPluginNames: {
  readonly onByDefault: readonly string[];
  readonly notThere: readonly string[];
} = names;
