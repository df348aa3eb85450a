import { DrayCommand } from "./commands/dray-command.ts";
import { commandLine } from "./commands/index.ts";
import { reportFailure } from "./terminal/failure.ts";
import { guardOutput } from "./terminal/guard-output.ts";
import { hideExperimentalWarnings } from "./terminal/warnings.ts";

hideExperimentalWarnings();
// The processes that we start are of the same bundle as this one, whatever a later build has put beside it.
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
