import { Argument, type Command } from "commander";
import { example } from "../../options/declarations.ts";

/** `dray completion` */
export function declareCompletion(program: Command): void {
  program
    .command("completion")
    .description("print a script that completes commands, options and their values in a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      `${example("source <(dray completion bash)")}
bash: add that line to ~/.bashrc.
zsh:  dray completion zsh > "\${fpath[1]}/_dray", and begin a new shell.
fish: dray completion fish > ~/.config/fish/completions/dray.fish
`,
    )
    .action(async (shell) => (await import("./run.ts")).completion(shell, program));
}
