import { commandLine } from "./commands.ts";
import { reportFailure } from "./failure.ts";
import { guardOutput } from "./guard-output.ts";

guardOutput(process);

try {
  await commandLine().parseAsync(process.argv);
} catch (error) {
  process.exitCode = reportFailure(error, process.stderr);
}
