import {
  type AddHelpTextContext,
  type AddHelpTextPosition,
  Command,
  type ErrorOptions,
  type HelpContext,
  type ParseOptions,
} from "commander";
import { LateOption } from "../options/late-option.ts";
import { UsageError } from "../terminal/failure.ts";
import { didYouMean } from "../text/similar.ts";
import { refill } from "../text/wrap.ts";

/** commander's message for a value that is not one of the choices. */
const optionChoice =
  /^.*?(?<name>-[^ '<]+) ?(?:<.*>)?' argument '(?<value>.*)' is invalid\. Allowed choices are (?<choices>.*)\.$/s;
const argumentChoice =
  /^command-argument value '(?<value>.*)' is invalid for argument '(?<name>.*)'\. Allowed choices are (?<choices>.*)\.$/s;

/** The help is to be shown, and parts of it have not been loaded yet. */
class HelpNotLoaded extends Error {
  readonly command: DrayCommand;

  constructor(command: DrayCommand) {
    super(`the help of ${command.path} has not been loaded`);
    this.command = command;
  }
}

/** commander's width for pipes and files. */
const usualHelpWidth = 80;

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

  /** Loads what the help shows of large parts of the program. */
  async loadHelp(): Promise<void> {
    for (const option of this.options) if (option instanceof LateOption) await option.load();
  }

  /** Fills the text to the width of the rest of the help. */
  override addHelpText(
    position: AddHelpTextPosition,
    text: string | ((context: AddHelpTextContext) => string),
  ): this {
    return super.addHelpText(position, (context) => {
      const width = this.configureOutput().getOutHelpWidth?.() ?? usualHelpWidth;
      return refill(typeof text === "string" ? text : text(context), width);
    });
  }

  /** Requires `loadHelp`. */
  override helpInformation(context?: HelpContext): string {
    if (this.options.some((option) => option instanceof LateOption && !option.isLoaded))
      throw new HelpNotLoaded(this);
    return super.helpInformation(context);
  }

  /** Parses the arguments again if their help had to be loaded: commander shows it synchronously. */
  override async parseAsync(argv?: readonly string[], options?: ParseOptions): Promise<this> {
    try {
      return await super.parseAsync(argv, options);
    } catch (error) {
      if (!(error instanceof HelpNotLoaded)) throw error;
      await error.command.loadHelp();
      return await super.parseAsync(argv, options);
    }
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
    // "plan FILE": this command takes its files by a flag.
    if (code === "commander.excessArguments") {
      const takesFiles = this.registeredArguments.length === 0 && this.#takesFiles();
      return takesFiles ? `${message} Name files with -f` : message;
    }
    const choice = optionChoice.exec(message) ?? argumentChoice.exec(message);
    if (choice === null) return message;
    const { name = "", value = "", choices = "" } = choice.groups ?? {};
    const meant = didYouMean(value, choices.split(", "));
    return `${name} ${value}: must be one of ${choices}${meant === undefined ? "" : ` (${meant})`}`;
  }

  #takesFiles(): boolean {
    return this.options.some(({ short, required }) => short === "-f" && required);
  }

  #longFlags(): string[] {
    const help = this.createHelp();
    return [...help.visibleOptions(this), ...help.visibleGlobalOptions(this)].flatMap(
      ({ long }) => long ?? [],
    );
  }
}
