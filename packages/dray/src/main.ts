import { DrayCommand } from "./commands/dray-command.ts";
import { commandLine } from "./commands/index.ts";
import { reportFailure } from "./terminal/failure.ts";
import { guardOutput } from "./terminal/guard-output.ts";
import { hideExperimentalWarnings } from "./terminal/warnings.ts";

hideExperimentalWarnings();
// Child processes use the same bundle as this one, even after a new build.
process.argv[1] = import.meta.filename;
guardOutput(process);

const program = commandLine();
let running = program.path;
program.hook("preAction", (_, action) => {
  if (action instanceof DrayCommand) running = action.path;
});

try {
  await program.parseAsync(process.argv);
} catch (error) {
  process.exitCode = reportFailure(error, process.stderr, running);
}
