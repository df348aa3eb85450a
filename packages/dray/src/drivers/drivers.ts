import type { Features } from "@dray/api";
import { UsageError } from "../terminal/failure.ts";
import { didYouMean } from "../text/similar.ts";
import { devicePluginExample } from "./device-plugin.ts";
import { exampleDriver } from "./example.ts";
import type { Installation, KnownDriver } from "./known.ts";

/** A driver of a flag. */
export interface ChosenDriver {
  readonly name: string;
  readonly installation: Installation;
}

const drivers: Readonly<Record<string, KnownDriver>> = {
  example: exampleDriver,
  "device-plugin-example": devicePluginExample,
};

/**
 * Parses `NAME[:key=value,...]` of each `--driver`, for a cluster with `features`. Throws a UsageError with
 * what is accepted.
 */
export function driversOption(texts: readonly string[], features: Features): ChosenDriver[] {
  const chosen = texts.map((text) => driverOption(text, features));
  for (const [i, { name, installation }] of chosen.entries())
    if (chosen.findIndex((other) => other.installation.id === installation.id) !== i)
      throw new UsageError(`--driver ${texts[i]}: ${name} is given twice`);
  return chosen;
}

function driverOption(text: string, features: Features): ChosenDriver {
  const refuse = (why: string): never => {
    throw new UsageError(`--driver ${text}: ${why}`);
  };
  const [name = "", list] = text.split(/:(.*)/s) as [string?, string?];
  const known = Object.hasOwn(drivers, name) ? drivers[name] : undefined;
  if (known === undefined) return refuse(unknown("driver", name, Object.keys(drivers)));
  const settings: Record<string, string> = {};
  for (const part of list === undefined ? [] : list.split(",")) {
    const [key = "", value] = part.split(/=(.*)/s) as [string?, string?];
    const setting = Object.hasOwn(known.settings, key) ? known.settings[key] : undefined;
    if (setting === undefined) return refuse(unknown("setting", key, Object.keys(known.settings)));
    if (value === undefined || !setting.accepts(value))
      return refuse(`${key} must be ${setting.accepted}, as in ${name}:${key}=${setting.example}`);
    if (Object.hasOwn(settings, key)) return refuse(`${key} is given twice`);
    settings[key] = value;
  }
  let installation: Installation;
  try {
    installation = known.install(settings);
  } catch (error) {
    return refuse((error as Error).message);
  }
  const lacking = installation.needs.find(({ gate }) => !features.enabled(gate));
  if (lacking === undefined) return { name, installation };
  const { setting, gate } = lacking;
  return refuse(
    `${setting} needs the feature gate ${gate}, which is off: start the cluster with --feature-gates ${gate}=true`,
  );
}

function unknown(what: string, word: string, accepted: readonly string[]): string {
  const meant = didYouMean(word, accepted);
  return `unknown ${what} ${JSON.stringify(word)}: ${meant ?? `must be one of ${accepted.join(", ")}`}`;
}
