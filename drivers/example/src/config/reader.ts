import type { StandardSchema } from "@dray/driver";

/** Invalid configuration. */
class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/**
 * Reads the fields of one kind of configuration. Each method throws an error that names the field, its value
 * and what is accepted.
 */
export interface ConfigReader {
  /** Reads an object with `fields` and no others; null counts as absent, as everywhere in Kubernetes. */
  object(value: unknown, path: string, fields: readonly string[]): Record<string, unknown>;
  oneOf<V extends string>(value: unknown, path: string, values: readonly V[]): V;
  fail(path: string, problem: string): never;
}

export function configReader(kind: string): ConfigReader {
  const reader: ConfigReader = {
    object(value, path, fields) {
      if (typeof value !== "object" || value === null || Array.isArray(value))
        return reader.fail(path, `${shown(value)} must be an object`);
      for (const field of Object.keys(value)) {
        if (fields.includes(field)) continue;
        return reader.fail(
          path === "" ? field : `${path}.${field}`,
          `unknown field; known are ${fields.join(", ")}`,
        );
      }
      return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null));
    },
    oneOf(value, path, values) {
      const found = values.find((one) => one === value);
      return (
        found ??
        reader.fail(path, `${shown(value)} is not supported, supported are ${values.map(shown).join(", ")}`)
      );
    },
    fail(path, problem) {
      throw new ConfigError(`${kind}${path === "" ? "" : ` ${path}`}: ${problem}`);
    },
  };
  return reader;
}

export function shown(value: unknown): string {
  return typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? "nothing");
}

/** Returns the schema of the parameters that `decode` accepts. */
export function schemaOf<C>(decode: (parameters: unknown) => C): StandardSchema<C> {
  return {
    "~standard": {
      version: 1,
      vendor: "dray",
      validate(value) {
        try {
          return { value: decode(value) };
        } catch (error) {
          if (error instanceof ConfigError) return { issues: [{ message: error.message }] };
          throw error;
        }
      },
    },
  };
}

/** The schema of a driver without parameters. */
export const noParameters: StandardSchema<never> = {
  "~standard": {
    version: 1,
    vendor: "dray",
    validate: () => ({ issues: [{ message: "the driver takes no parameters with this profile" }] }),
  },
};
