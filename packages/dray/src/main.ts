import { commandLine } from "./commands.ts";
import { DrayCommand } from "./dray-command.ts";
import { reportFailure } from "./failure.ts";
import { guardOutput } from "./guard-output.ts";

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
