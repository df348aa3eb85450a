import manifest from "../../package.json" with { type: "json" };

/** Returns the version of this package, which a bundle contains. */
export const drayVersion = (): string => manifest.version;
