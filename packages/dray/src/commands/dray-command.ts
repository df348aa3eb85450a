import { Command, type ErrorOptions } from "commander";
import { UsageError } from "../terminal/failure.ts";
import { didYouMean } from "../text/similar.ts";

/** commander's message for a value that is not one of the choices. */
const optionChoice =
  /^.*?(?<name>-[^ '<]+) ?(?:<.*>)?' argument '(?<value>.*)' is invalid\. Allowed choices are (?<choices>.*)\.$/s;
const argumentChoice =
  /^command-argument value '(?<value>.*)' is invalid for argument '(?<name>.*)'\. Allowed choices are (?<choices>.*)\.$/s;

/** A command that throws its usage errors as UsageError, with suggestions. */
export class DrayCommand extends Command {
  constructor(name?: string) {
    super(name);
    this.showSuggestionAfterError(false)
      .configureHelp({ showGlobalOptions: true })
      // Help and version also end the program by an error.
      .exitOverride();
  }

  override createCommand(name?: string): DrayCommand {
    return new DrayCommand(name);
  }

  /** The names up to this command: `dray cel check`. */
  get path(): string {
    return this.parent instanceof DrayCommand ? `${this.parent.path} ${this.name()}` : this.name();
  }

  override error(message: string, options?: ErrorOptions): never {
    throw new UsageError(this.#explain(message.replace(/^error: /, ""), options?.code), this.path);
  }

  /** Adds to commander's text what is accepted, if the text lacks it. */
  #explain(message: string, code: string | undefined): string {
    const [, word = ""] = /^unknown (?:option|command) '(.*)'$/s.exec(message) ?? [];
    if (code === "commander.unknownCommand") {
      const known = this.createHelp()
        .visibleCommands(this)
        .map((command) => command.name());
      return `${message}: ${didYouMean(word, known) ?? `must be one of ${known.join(", ")}`}`;
    }
    if (code === "commander.unknownOption") {
      const [flag = "", value] = word.split(/=(.*)/s);
      const known = this.#longFlags();
      if (value !== undefined && known.includes(flag)) return `option '${flag}' takes no value`;
      const meant = didYouMean(flag, known);
      return meant === undefined ? message : `${message}: ${meant}`;
    }
    const choice = optionChoice.exec(message) ?? argumentChoice.exec(message);
    if (choice === null) return message;
    const { name = "", value = "", choices = "" } = choice.groups ?? {};
    const meant = didYouMean(value, choices.split(", "));
    return `${name} ${value}: must be one of ${choices}${meant === undefined ? "" : ` (${meant})`}`;
  }

  #longFlags(): string[] {
    const help = this.createHelp();
    return [...help.visibleOptions(this), ...help.visibleGlobalOptions(this)].flatMap(
      ({ long }) => long ?? [],
    );
  }
}
