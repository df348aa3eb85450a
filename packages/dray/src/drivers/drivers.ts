import { join } from "node:path";
import { examplesFolder } from "../examples.ts";
import { UsageError } from "../failure.ts";
import { didYouMean } from "../similar.ts";

/** A driver that `up --driver` installs. */
export interface KnownDriver {
  /** What its ResourceSlices name. */
  readonly driverName: string;
  /** Its manifests, below the examples. */
  readonly folder: readonly string[];
  readonly daemonSet: { readonly namespace: string; readonly name: string };
  /** What may be set: a variable of the environment of the DaemonSet's containers each. */
  readonly settings: Readonly<Record<string, Setting>>;
  /** How many devices it publishes on each node. */
  deviceCount(settings: Settings): number;
  /** Commands that show a pod with a device, where `folder` is the path of the manifests, quoted for a shell. */
  commands(folder: string): readonly string[];
}

export interface Setting {
  readonly variable: string;
  readonly otherwise: string;
  /** What is accepted, for people. */
  readonly accepted: string;
  accepts(value: string): boolean;
}

export type Settings = Readonly<Record<string, string>>;

/** A driver as a flag asks for it. */
export interface ChosenDriver {
  readonly name: string;
  readonly known: KnownDriver;
  readonly settings: Settings;
}

const maxDevices = 10_000;

export const drivers: Readonly<Record<string, KnownDriver>> = {
  example: {
    driverName: "gpu.example.com",
    folder: ["dra", "driver-install"],
    daemonSet: { namespace: "dra-tutorial", name: "dra-example-driver-kubeletplugin" },
    settings: {
      devices: {
        variable: "NUM_DEVICES",
        otherwise: "9",
        accepted: `a whole number from 0 to ${maxDevices}`,
        accepts: (value) => /^\d+$/.test(value) && Number(value) <= maxDevices,
      },
    },
    deviceCount: ({ devices = "9" }) => Number(devices),
    commands: (folder) => [
      `kubectl apply -f ${folder}/example`,
      "kubectl wait -n dra-tutorial --for=condition=Ready pod/pod0 && kubectl logs -n dra-tutorial pod0 | grep GPU_DEVICE",
    ],
  },
};

/** Reads `NAME[:key=value,...]` of each `--driver`. Throws a UsageError that says what is accepted. */
export function driversOption(texts: readonly string[]): ChosenDriver[] {
  const chosen = texts.map(driverOption);
  for (const [i, { name }] of chosen.entries())
    if (chosen.findIndex((other) => other.name === name) !== i)
      throw new UsageError(`--driver ${texts[i]}: ${name} is given twice`);
  return chosen;
}

function driverOption(text: string): ChosenDriver {
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
      return refuse(`${key} must be ${setting.accepted}, as in ${name}:${key}=${setting.otherwise}`);
    if (Object.hasOwn(settings, key)) return refuse(`${key} is given twice`);
    settings[key] = value;
  }
  return { name, known, settings };
}

function unknown(what: string, word: string, accepted: readonly string[]): string {
  const meant = didYouMean(word, accepted);
  return `unknown ${what} ${JSON.stringify(word)}: ${meant ?? `must be one of ${accepted.join(", ")}`}`;
}

/** Where the manifests of a driver are. */
export function manifestsOf(known: KnownDriver): string {
  return join(examplesFolder(), ...known.folder);
}
