import manifest from "../../package.json" with { type: "json" };

/** The version of this package; a bundle has it inside. */
export const drayVersion = (): string => manifest.version;
