import { kubernetesVersions } from "@dray/api";
import type { Argument, Command, Option } from "commander";
import { ruleIds } from "../../doctor/rules.ts";
import { kindWords } from "../../explain/kinds.ts";
import { components } from "../logs/select.ts";

/** Candidates for a value. */
export type Values =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "files" | "folders" | "clusters" | "any" };

export interface CompletedOption {
  /** `-o` and `--output`. */
  readonly names: readonly string[];
  readonly description: string;
  /** Undefined if the option takes no value. */
  readonly values: Values | undefined;
  readonly repeatable: boolean;
}

/** A command and its possible arguments. */
export interface CompletedCommand {
  /** `check` */
  readonly name: string;
  /** `["dray", "cel", "check"]` */
  readonly path: readonly string[];
  readonly description: string;
  readonly commands: readonly CompletedCommand[];
  readonly options: readonly CompletedOption[];
  /** The values of each argument, in order. */
  readonly arguments: readonly Values[];
  /** The last argument may be repeated. */
  readonly variadic: boolean;
}

/** Values that commander has no list of, since more are accepted or they are checked later. */
const values: Readonly<Record<string, Values>> = {
  "--kubernetes-version": { kind: "words", words: kubernetesVersions },
  "--store": { kind: "words", words: ["sqlite:", "etcd:http", "memory"] },
  "--name": { kind: "clusters" },
  "--add-nodes": { kind: "words", words: ["auto"] },
  "explain kind": { kind: "words", words: kindWords },
  "--rule": { kind: "words", words: ruleIds },
  "--skip": { kind: "words", words: ruleIds },
  "logs component": { kind: "words", words: [...components.keys()] },
};

/** Returns the tree of visible commands. */
export function completionModel(command: Command, parents: readonly string[] = []): CompletedCommand {
  const path = [...parents, command.name()];
  const help = command.createHelp();
  const args = command.registeredArguments;
  return {
    name: command.name(),
    path,
    description: command.description(),
    commands: help.visibleCommands(command).map((child) => completionModel(child, path)),
    options: [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].map(completedOption),
    arguments: args.map((argument) => argumentValues(command, argument)),
    variadic: args.at(-1)?.variadic ?? false,
  };
}

function completedOption(option: Option): CompletedOption {
  const takesValue = option.required || option.optional;
  return {
    names: [option.short, option.long].filter((name) => name !== undefined),
    description: option.description,
    values: takesValue ? optionValues(option) : undefined,
    // Repeatable options collect their values.
    repeatable:
      option.variadic ||
      Array.isArray(option.defaultValue) ||
      (option.mandatory && takesValue) ||
      option.long === "--verbose",
  };
}

function optionValues(option: Option): Values {
  if (option.argChoices !== undefined) return { kind: "words", words: option.argChoices };
  const placeholder = /[<[]([\w-]+)/.exec(option.flags)?.[1];
  return (
    values[option.long ?? ""] ??
    (placeholder === "file"
      ? { kind: "files" }
      : placeholder === "dir"
        ? { kind: "folders" }
        : { kind: "any" })
  );
}

function argumentValues(command: Command, argument: Argument): Values {
  if (argument.argChoices !== undefined) return { kind: "words", words: argument.argChoices };
  const name = argument.name();
  return values[`${command.name()} ${name}`] ?? (/^files?$/.test(name) ? { kind: "files" } : { kind: "any" });
}

/** Returns the command and all its subcommands. */
export function allCommands(command: CompletedCommand): CompletedCommand[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

/** Returns the first sentence of a description, for one line of a list. */
export function summary(description: string): string {
  const [first = ""] = description.split(/; | \(default/);
  return first;
}
