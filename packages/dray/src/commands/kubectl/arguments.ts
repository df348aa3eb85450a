import { UsageError } from "../../terminal/failure.ts";

/** Supported flags of a `kubectl` command line. */
export interface Arguments {
  readonly verb: string;
  readonly positional: readonly string[];
  readonly flags: ReadonlyMap<string, string>;
}

/** Flags that take a value, short forms first. */
const valued: Readonly<Record<string, string>> = {
  "-n": "--namespace",
  "-l": "--selector",
  "-o": "--output",
  "-f": "--filename",
  "-c": "--container",
  "--namespace": "--namespace",
  "--selector": "--selector",
  "--output": "--output",
  "--filename": "--filename",
  "--container": "--container",
  "--kubeconfig": "--kubeconfig",
  "--context": "--context",
  "--tail": "--tail",
};
const switches: Readonly<Record<string, string>> = {
  "-A": "--all-namespaces",
  "--all-namespaces": "--all-namespaces",
  "--server-side": "--server-side",
};

export function parseArguments(args: readonly string[]): Arguments {
  const positional: string[] = [];
  const flags = new Map<string, string>();
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (!arg.startsWith("-")) {
      positional.push(arg);
      continue;
    }
    const [name, inline] = arg.split(/=(.*)/s) as [string, string | undefined];
    const long = switches[name];
    if (long !== undefined) {
      flags.set(long, inline ?? "true");
      continue;
    }
    const valueName = valued[name];
    if (valueName === undefined)
      throw new UsageError(`unknown flag ${name}: install kubectl for all of its flags`);
    const value = inline ?? args[++i];
    if (value === undefined) throw new UsageError(`flag ${name} needs a value`);
    flags.set(valueName, value);
  }
  const [verb, ...rest] = positional;
  if (verb === undefined) throw new UsageError("a verb is needed: apply, create, delete, get or logs");
  return { verb, positional: rest, flags };
}
